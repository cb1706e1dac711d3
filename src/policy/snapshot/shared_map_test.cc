#include "policy/snapshot/shared_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "policy/testing/policies.h"

namespace sluice {
namespace {

struct Thing {
  std::string id;
  int value = 0;
  std::string_view name() const { return id; }
};
using Things = SharedMap<Thing>;
using Model = std::map<std::string, int>;

Model contents(const Things& things) {
  Model model;
  things.for_each([&](const auto& thing) { model[thing->id] = thing->value; });
  return model;
}

// Every copy keeps its contents, whatever happens to the others.
TEST(SharedMap, CopiesAreAsTheyWereWhenTheyWereTaken) {
  auto random = testing::seeded_random();
  std::vector<std::pair<Things, Model>> taken(1);
  for (int round = 0; round < 300; ++round) {
    auto [things, model] = taken[random() % taken.size()];
    Things::Editor editor(things);
    for (std::size_t i = random() % 40; i-- > 0;) {
      const std::string id = "thing " + std::to_string(random() % 3000);
      const int value = static_cast<int>(random() % 1000);
      if (random() % 3 == 0) {
        editor.erase(id);
        model.erase(id);
      } else {
        editor.put(std::make_shared<const Thing>(Thing{id, value}));
        model[id] = value;
      }
      ASSERT_EQ(editor.map().size(), model.size());
    }
    taken.emplace_back(std::move(editor).finish(), std::move(model));
  }
  for (const auto& [things, model] : taken) {
    ASSERT_EQ(contents(things), model);
    EXPECT_EQ(things.size(), model.size());
    EXPECT_EQ(things.empty(), model.empty());
    for (const auto& [id, value] : model) ASSERT_EQ(things.find(id)->value, value);
    EXPECT_EQ(things.find("thing 3000"), nullptr);
    EXPECT_EQ(things.find(""), nullptr);
  }
}

TEST(SharedMap, WhatDoesNotChangeIsShared) {
  Things::Editor first({});
  for (int i = 0; i < 10'000; ++i) first.put(std::make_shared<const Thing>(Thing{std::to_string(i), i}));
  const Things before = std::move(first).finish();
  Things::Editor second(before);
  second.put(std::make_shared<const Thing>(Thing{"17", -17}));
  const Things after = std::move(second).finish();
  EXPECT_EQ(before.find("17")->value, 17);
  EXPECT_EQ(after.find("17")->value, -17);
  std::size_t same_places = 0;
  for (int i = 0; i < 10'000; ++i)
    same_places += before.find_pointer(std::to_string(i)) == after.find_pointer(std::to_string(i));
  EXPECT_GT(same_places, 9'900u) << "only the shard of the changed one may be copied";
}

}  // namespace
}  // namespace sluice

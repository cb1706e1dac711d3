#include "server/cells/cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/testing/cells_fixture.h"

namespace sluice::server {
namespace {

using testing::cell_at;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::make_cells;

TEST(Cells, NameBeatsPrefixBeatsTierBeatsDefault) {
  const auto cells = make_cells({cell_at("a", "a", {"bank-1", "bank-*"}, {"gold"}),
                                 cell_at("b", "b", {"bank-eu-*", "acme"}, {"silver"})});
  struct Row {
    std::string tenant, tier, expected;
  };
  for (const Row& row : {Row{"acme", "", "b"},
                         {"acme", "gold", "b"},
                         {"acme2", "", "default"},
                         {"bank-1", "silver", "a"},
                         {"bank-2", "silver", "a"},
                         {"bank-eu-1", "gold", "b"},
                         {"bank-", "", "a"},
                         {"bank", "", "default"},
                         {"other", "gold", "a"},
                         {"other", "silver", "b"},
                         {"other", "iron", "default"},
                         {"", "silver", "b"},
                         {"", "", "default"}})
    EXPECT_EQ(cells->list()[cells->find(row.tenant, row.tier)].name, row.expected)
        << row.tenant << ' ' << row.tier;
}

TEST(Cells, AStarAloneIsEveryTenantThatHasAName) {
  const auto cells = make_cells({cell_at("a", "a", {"*"}), cell_at("b", "b", {"x"})});
  EXPECT_EQ(cells->find("anybody", ""), 1u);
  EXPECT_EQ(cells->find("x", ""), 2u);
  EXPECT_EQ(cells->find("", ""), 0u);
}

TEST(Cells, KeysHaveTheSamePrefixEverywhere) {
  Cell other = cell_at("a", "a", {"x"});
  other.store.key_prefix = "";
  EXPECT_EQ(make_cells({other})->list()[1].store.key_prefix, "rl:");
}

std::vector<std::string> moves(const std::shared_ptr<const Cells>& from,
                               const std::shared_ptr<const Cells>& to) {
  std::vector<std::string> out;
  for (const Relocation& one : from->relocations_to(*to))
    out.push_back(one.tenant + ": " + one.from->name + " > " + one.to->name);
  return out;
}

TEST(Cells, RelocationsAreThoseOfTenantsThatAreNamed) {
  const auto before =
      make_cells({cell_at("a", "a", {"stays", "goes", "leaves", "p-*"}), cell_at("b", "b", {"home"})});
  const auto after =
      make_cells({cell_at("a", "a", {"stays", "comes", "p-1"}), cell_at("c", "c", {"goes"}, {"gold"})});
  EXPECT_THAT(moves(before, after),
              ElementsAre("comes: default > a", "goes: a > c", "home: b > default", "leaves: a > default"));
  EXPECT_THAT(moves(before, before), IsEmpty());
  EXPECT_THAT(moves(after, before),
              ElementsAre("comes: a > default", "goes: c > a", "home: default > b", "leaves: default > a"));
}

TEST(Cells, AnotherAddressIsTheSameCell) {
  const auto before = make_cells({cell_at("a", "a", {"x", "y"}), cell_at("b", "b", {})});
  const auto after = make_cells({cell_at("a2", "a", {"x"}), cell_at("b", "b", {"y"})});
  const auto relocations = before->relocations_to(*after);
  ASSERT_EQ(relocations.size(), 1u);
  EXPECT_EQ(relocations[0].from->store.redis->addresses.front().host, "a2");
}

TEST(Cells, WhoIsHeldBackGoesWhereItCameFrom) {
  const auto before = make_cells({cell_at("a", "a", {"x"}), cell_at("b", "b", {"y"})});
  const auto after = make_cells({cell_at("b", "b", {"x"})});
  const Cells held = after->holding_back(before->relocations_to(*after));
  const auto name = [&held](std::string_view tenant) { return held.list()[held.find(tenant, "")].name; };
  EXPECT_EQ(name("x"), "a") << "a cell that is to go stays as long";
  EXPECT_EQ(name("y"), "b");
  EXPECT_EQ(name("z"), "default");
  EXPECT_EQ(after->holding_back({}), *after);
}

TEST(Cells, GroupsAreComparedByNamesOfCells) {
  const auto cells = make_cells({cell_at("a", "a", {"p-*", "t"}, {"gold"}), cell_at("b", "b", {"q-*"})});
  EXPECT_TRUE(cells->places_groups_like(
      *make_cells({cell_at("b", "b", {"q-*", "t"}), cell_at("a2", "a", {"p-*"}, {"gold"})})));
  EXPECT_FALSE(cells->places_groups_like(*make_cells({cell_at("a", "a", {"p-*"}, {"gold"})})));
  EXPECT_FALSE(cells->places_groups_like(
      *make_cells({cell_at("a", "a", {"p-*"}), cell_at("b", "b", {"q-*"}, {"gold"})})));
}

}  // namespace
}  // namespace sluice::server

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/cells/cell_mover.h"
#include "server/testing/tiny_redis.h"

namespace sluice::server {
namespace {

using testing::cell_at;
using ::testing::IsEmpty;
using testing::make_cells;
using testing::TinyRedis;

// acme has counters under two secrets.
class CellMoverSecretsTest : public ::testing::Test, protected testing::MoverAmongServers {
 protected:
  CellMoverSecretsTest() {
    EXPECT_TRUE(ring->take({{1, 0, "the first secret"}, {2, 1000, "the second secret"}}, 0));
    servers["home"].keys = {{name(0), "of version 1"}, {name(1), "of version 2"}};
  }
  std::uint32_t tag(std::size_t version) const {
    return slot_tag_of_tenant(hashes_by_every_secret(*ring, "acme")[version]);
  }
  static std::string name_of(std::uint32_t tag) {
    std::string name;
    append_key(name, "rl:", tag, {0, 1});
    return name;
  }
  std::string name(std::size_t version) const { return name_of(tag(version)); }
  TinyRedis::Record record(const std::string& host, std::uint32_t tag) {
    return servers[host].records[owner_letters(tag)];
  }

  std::shared_ptr<SecretRing> ring = std::make_shared<SecretRing>();
  const KeyHasher hmac = KeyHasher::with_hmac(ring);
  CellRegistry registry{make_cells({}), [](const Relocation&) {}};
  CellMover mover{{registry, hmac, clock, *this, [](std::uint64_t) { return 0; }, {}, {}, ring.get()}};
};

TEST_F(CellMoverSecretsTest, CountersOfEveryVersionMove) {
  const std::map<std::string, std::string> all = servers["home"].keys;
  registry.want(make_cells({cell_at("eu", "eu", {"acme"})}));
  pass(mover, 1000);
  EXPECT_EQ(cell_of(registry, "acme"), "eu");
  EXPECT_EQ(servers["eu"].keys, all);
  EXPECT_THAT(servers["home"].keys, IsEmpty());
  EXPECT_EQ(mover.counters(), (TenantMoveCounters{.done = 1, .keys = 2}));

  ring->advance(1000);  // and back, under the other version
  registry.want(make_cells({cell_at("eu", "eu", {})}));
  pass(mover, 1000);
  EXPECT_EQ(cell_of(registry, "acme"), "default");
  EXPECT_EQ(servers["home"].keys, all);
  EXPECT_THAT(servers["eu"].keys, IsEmpty());
  EXPECT_EQ(mover.in_progress(), "");
}

TEST_F(CellMoverSecretsTest, AVersionThatBeginsDuringTheMoveIsRefusedAtTheOldCell) {
  const std::uint32_t first = tag(0), second = tag(1);
  registry.want(make_cells({cell_at("eu", "eu", {"acme"})}));
  for (int i = 0; i < 1000 && record("home", first).state == "-"; ++i) pass(mover, 1);
  EXPECT_EQ(record("home", first).state, "c");
  EXPECT_EQ(record("home", second).state, "x") << "before the copy of the version in force begins";
  EXPECT_EQ(record("eu", second).state, "o");
  ring->advance(1000);
  EXPECT_EQ(cell_of(registry, "acme"), "default");
  pass(mover, 1000);
  EXPECT_EQ(cell_of(registry, "acme"), "eu");
  EXPECT_EQ(servers["eu"].keys.size(), 2u);
  EXPECT_EQ(record("home", first).other, "eu\nacme");
  EXPECT_EQ(record("home", second).other, "eu\n") << "one record says where the tenant lives";
  EXPECT_EQ(mover.in_progress(), "");
}

// The process dies at any moment of the move, when the counters of one version are over and those of the
// other are not. Perhaps the other version comes into force before the next process begins, which has only
// the records to go by, and perhaps its memory.
TEST_F(CellMoverSecretsTest, WhenAProcessDiesBetweenTwoVersionsTheNextOneFinishes) {
  const std::map<std::string, std::string> all = servers["home"].keys;
  const std::uint32_t first = tag(0), second = tag(1);
  const auto cells = make_cells({cell_at("eu", "eu", {"acme"})});
  bool is_over = false, was_between = false;
  for (int ticks = 0; !is_over; ++ticks) {
    for (const bool begins : {false, true}) {
      for (const CellMemory& memory : {CellMemory{}, CellMemory{{{"acme", "default"}}}}) {
        SCOPED_TRACE(::testing::Message() << "after " << ticks << " ticks, begins: " << begins);
        servers.clear();
        servers["home"].keys = all;
        const auto secrets = std::make_shared<SecretRing>();
        ASSERT_TRUE(secrets->take({{1, 0, "the first secret"}, {2, 1000, "the second secret"}}, 0));
        const KeyHasher with_ring = KeyHasher::with_hmac(secrets);
        const auto begin = [&](CellRegistry& in, const CellMemory& remembered) {
          return std::make_unique<CellMover>(CellMover::Parts{
              in, with_ring, clock, *this, [](std::uint64_t) { return 0; }, {}, remembered, secrets.get()});
        };
        {
          CellRegistry before(make_cells({}), [](const Relocation&) {});
          const auto dies = begin(before, {});
          before.want(cells);
          pass(*dies, ticks);
          is_over = cell_of(before, "acme") == "eu";
        }
        was_between |= record("home", second).state == "x" && record("eu", first).state != "o";
        if (begins) secrets->advance(1000);
        CellRegistry after(std::make_shared<const Cells>(CellHomes::at_start(*cells, memory)), cells,
                           [](const Relocation&) {});
        const auto next = begin(after, memory);
        for (int i = 0; i < 3000 && (cell_of(after, "acme") != "eu" || !next->in_progress().empty()); ++i)
          pass(*next, 1);
        ASSERT_EQ(cell_of(after, "acme"), "eu") << next->in_progress();
        EXPECT_EQ(servers["eu"].keys, all);
        for (const std::uint32_t each : {first, second}) {
          EXPECT_EQ(record("home", each).state, "x");
          EXPECT_EQ(record("eu", each).state, "o");
        }
      }
    }
  }
  EXPECT_TRUE(was_between);
}

}  // namespace
}  // namespace sluice::server

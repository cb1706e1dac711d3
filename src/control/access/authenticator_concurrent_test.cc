// Loops authenticate callers while the control plane and an operator change who is known.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "control/access/authenticator.h"

namespace sluice::control {
namespace {

class AccessConcurrentTest : public ::testing::Test {
 protected:
  // A version of the token "ops": in force, or withdrawn.
  void put(bool in_force) {
    const Token token{"ops", hash_token(secret), {Role::kRead}, {}, 0};
    const ledger::Record record{.revision = ++revision,
                                .kind = ledger::Kind::kToken,
                                .name = "ops",
                                .version = revision,
                                .action = "put",
                                .body = in_force ? write_token(token) : ""};
    const ledger::Record* records[] = {&record};
    ASSERT_TRUE(tokens.apply(records).empty());
  }

  const std::string secret = make_token(token_entropy());
  std::int64_t revision = 0;
  ManualClock clock{1};
  TokenRegistry tokens;
  IdentityRegistry identities;
  KnownCallers known{tokens, clock, &identities};
};

TEST_F(AccessConcurrentTest, EveryLoopSeesTokensAndIdentitiesComeAndGo) {
  constexpr int kChanges = 500;
  std::atomic<bool> is_over = false;
  const auto run_loop = [&] {
    Authenticator reader(known);
    const net::Peer stranger{.address = "192.0.2.1", .is_trusted = false, .names = {}};
    const net::Peer gateway{.address = "192.0.2.1", .is_trusted = false, .names = {"gateway"}};
    const std::string authorization = "Bearer " + secret;
    for (bool last = false; !last;) {
      last = is_over;  // what was published before is seen from here on
      const auto by_token = reader.who(stranger, authorization);
      const auto by_certificate = reader.who(gateway, "");
      if (by_token) EXPECT_EQ(by_token->name, "token ops");
      if (by_certificate) EXPECT_EQ(by_certificate->name, "certificate gateway");
      if (last) EXPECT_TRUE(by_token && by_certificate);
    }
  };
  std::vector<std::thread> loops;
  for (int i = 0; i < 2; ++i) loops.emplace_back(run_loop);
  for (int i = 0; i <= kChanges; ++i) {
    put(i % 2 == 0);
    identities.replace(i % 2 == 0 ? std::vector<Identity>{{"gateway", {{Role::kCheck}, {}}}}
                                  : std::vector<Identity>{});
  }
  is_over = true;
  for (std::thread& loop : loops) loop.join();
}

}  // namespace
}  // namespace sluice::control

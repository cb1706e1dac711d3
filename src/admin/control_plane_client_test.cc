#include "admin/control_plane_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "admin/admin_door.h"
#include "control/policy_registry.h"
#include "ledger/testing/racing_ledger.h"
#include "net/testing/reply.h"

namespace sluice::admin {
namespace {

using ::testing::HasSubstr;

class ControlPlaneClientTest : public ::testing::Test {
 protected:
  // The answer, delivered by a later tick.
  net::HttpResponse put_policy() {
    const std::vector<net::Header> none;
    const net::HttpRequest request{.method = "PUT",
                                   .path = "/v1/policies/a",
                                   .headers = none,
                                   .body = R"({"id":"a","limits":[{"rate":"5/s"}]})",
                                   .peer = &peer};
    net::TestReply<net::HttpResponse> reply;
    door.handle(request, reply);
    run_until([&] { return reply.is_answered(); }, [&] { door.tick(); });
    return reply.answer();
  }
  static control::LedgerFollower& with_documents(control::LedgerFollower& follower,
                                                 control::DocumentRegistry& documents) {
    follower.add(ledger::Kind::kPolicy, documents);
    return follower;
  }
  static void run_until(const std::function<bool()>& done, const std::function<void()>& tick) {
    for (int i = 0; i < 30'000 && !done(); ++i) {
      tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_TRUE(done());
  }

  ManualClock clock{1'800'000'000'000'000};
  ledger::RacingLedger ledger{std::make_shared<ledger::MemoryDatabase>()};
  ParamsTable params;
  SnapshotPublisher snapshots;
  PolicyCatalog catalog{snapshots, params};
  control::PolicyRegistry documents{catalog};
  control::LedgerFollower follower{ledger};
  DecisionTotals totals;
  control::RolloutRegistry rollout_registry{catalog};
  control::RolloutController rollouts{{rollout_registry, catalog, totals, clock, {}}};
  BigSwitch big_switch;
  control::SwitchController controller{big_switch, clock, clock,
                                       [](ledger::Change, const control::Outbox::Revise&) {},
                                       [](bool, const std::string&) {}};
  SelfLimits limits{clock, {.reads = 1000, .writes = 100}};
  control::TokenRegistry tokens;
  control::KnownCallers known_callers{tokens, clock};
  net::Peer peer{.address = "127.0.0.1", .port = net::Port::kAll, .is_trusted = true, .names = {}};
  control::ControlPlane plane{with_documents(follower, documents), clock, {}};
  const AdminParts parts{plane, catalog, known_callers, clock, controller, limits, {}, rollouts};
  AdminDoor door{parts, 1};
  ControlPlaneClient client{parts};
};

TEST_F(ControlPlaneClientTest, WhatMemoryIsTooShortForIsAnsweredAndTheNextCallIsServed) {
  ledger.meanwhile = [] { throw std::bad_alloc(); };
  const auto refused = put_policy();
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("out of memory"));
  EXPECT_EQ(put_policy().status, 201);
  EXPECT_EQ(plane.status().shortages, 1u);
}

TEST_F(ControlPlaneClientTest, AnAnswerThatCannotBeToldDoesNotKeepTheOthersBack) {
  std::vector<int> told;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(client.ask([i](AdminContext&) { return i; },
                           [&, i](std::optional<int>&& answer) {
                             if (i == 1) throw std::bad_alloc();
                             told.push_back(*answer);
                           }));
  int failures = 0;
  run_until([&] { return told.size() == 2; },
            [&] {
              try {
                client.tick();
              } catch (const std::bad_alloc&) {
                ++failures;
              }
            });
  EXPECT_EQ(told, (std::vector{0, 2}));
  EXPECT_EQ(failures, 1);
}

}  // namespace
}  // namespace sluice::admin

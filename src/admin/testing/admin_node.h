#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "admin/admin_call.h"
#include "admin/admin_parts.h"
#include "control/testing/control_node.h"

namespace sluice::admin {

// What the handlers of one node work with, on a ledger in memory that nodes may share. Not thread-safe.
struct AdminNode : control::ControlNode {
  AdminNode(const std::shared_ptr<ledger::MemoryDatabase>& database, const Clock& wall_clock)
      : ControlNode(database), clock(wall_clock) {
    EXPECT_TRUE(follower.load());
  }

  // The answer of a handler that `routes` has for this call.
  net::HttpResponse send(std::span<const AdminRoute> routes, const net::HttpRequest& request,
                         const control::Principal& who) {
    const auto call = AdminCall::from(request, who);
    EXPECT_TRUE(call);
    AdminContext context{follower, catalog, clock, rollouts};
    return answer_admin_call(routes, context, *call);
  }

  const Clock& clock;
  DecisionTotals totals;
  control::RolloutRegistry rollout_registry{catalog};
  control::RolloutController rollouts{{rollout_registry, catalog, totals, clock, {}}};
};

// A node whose control plane runs on its own thread, as the loops see it. The test is the loop, and its peer
// may do everything.
class AdminPlaneTest : public ::testing::Test {
 protected:
  // Calls `tick` until what it brings has made `done` true.
  static void run_until(const std::function<bool()>& done, const std::function<void()>& tick) {
    for (int i = 0; i < 30'000 && !done(); ++i) {
      tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_TRUE(done());
  }

  ManualClock clock{1'800'000'000'000'000};
  AdminNode node{std::make_shared<ledger::MemoryDatabase>(), clock};
  BigSwitch big_switch;
  control::SwitchController switch_controller{
      big_switch, clock, clock, [](ledger::Change, const control::Outbox::Revise&) {}, {}};
  SelfLimits limits{clock, {.reads = 1000, .writes = 100}};
  control::KnownCallers known_callers{node.tokens, clock};
  net::Peer peer{.address = "127.0.0.1", .port = net::Port::kAll, .is_trusted = true, .names = {}};
  control::ControlPlane plane{node.follower, clock, {}};
  const AdminParts parts{plane,  node.catalog, known_callers, clock, switch_controller,
                         limits, {},           node.rollouts};
};

}  // namespace sluice::admin

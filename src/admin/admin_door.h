#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "admin/admin_call.h"
#include "admin/self_limits.h"
#include "control/access.h"
#include "control/control_plane.h"
#include "control/switch_desk.h"
#include "doors/admin_seam.h"
#include "doors/http_path.h"

namespace sluice::admin {

// The whole admin API; a path with several methods is there several times.
std::vector<doors::HttpPath> admin_paths();

// What all loops share; outlives them. Thread-safe.
struct AdminParts {
  control::ControlPlane& plane;
  PolicyCatalog& catalog;
  const control::Access& access;
  const Clock& clock;
  control::SwitchDesk& switch_desk;
  SelfLimits& self_limits;
  doors::HeaderDialects dialects;
  control::RolloutPilot& rollouts;
};

// Functions that other threads want to be run on a loop's thread. Thread-safe; whoever owns it outlives
// nobody: posting to one whose loop has gone does nothing.
class LoopInbox {
 public:
  void post(std::function<void()> task);
  // Runs what has come. Only on the loop's thread.
  void run();

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;  // guarded by mutex_
};

// The admin API as one loop sees it: recognises callers, limits them, hands calls to the control plane, and
// sends the answers when they are there. Lives on the loop's thread.
class AdminDoor final : public doors::AdminSeam {
 public:
  // `seed` feeds the jitter of Retry-After; give each thread its own.
  AdminDoor(const AdminParts& parts, std::uint64_t seed)
      : parts_(parts),
        limiter_(parts.self_limits, parts.dialects, seed),
        inbox_(std::make_shared<LoopInbox>()) {}

  bool handles(std::string_view path) const override;
  void handle(const net::HttpRequest& request, net::HttpResponse& response,
              const std::function<net::Application::HttpLater()>& defer) override;
  void tick() override { inbox_->run(); }

 private:
  const AdminParts parts_;
  SelfLimiter limiter_;
  std::shared_ptr<LoopInbox> inbox_;
};

}  // namespace sluice::admin

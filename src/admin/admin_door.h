#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "admin/admin_parts.h"
#include "admin/control_plane_client.h"
#include "admin/policies/policy_service.h"
#include "doors/admin_seam.h"
#include "doors/http/http_path.h"

namespace sluice::admin {

// All paths of the admin API over HTTP; a path with several methods is listed several times.
std::vector<doors::HttpPath> admin_paths();

// The admin API on one loop: authenticates callers, limits their rate, passes calls to the control plane, and
// sends the answers when they arrive. Lives on the loop's thread.
class AdminDoor final : public doors::AdminSeam {
 public:
  // `seed` feeds the jitter of Retry-After; give each thread its own.
  AdminDoor(const AdminParts& parts, std::uint64_t seed)
      : parts_(parts),
        authenticator_(parts.known_callers),
        engine_(parts.self_limits, parts.dialects, seed),
        client_(parts),
        policies_(authenticator_, engine_, client_) {}

  bool handles(std::string_view path) const override;
  void handle(const net::HttpRequest& request, net::HttpReply& reply) override;
  void configure_policy(const doors::GrpcCall& call) override {
    call.reply.response.status = policies_.configure(call);
  }
  std::unique_ptr<net::GrpcStreamHandler> list_policies(const net::GrpcContext& context,
                                                        net::GrpcStream& stream) override {
    return policies_.list(context, stream);
  }
  void get_current_config(const doors::GrpcCall& call) override {
    call.reply.response.status = policies_.current_config(call);
  }
  bool when_recorded(std::function<void()> then) override;
  bool admit_read(const control::Principal& principal, net::HttpResponse& response) override {
    return engine_.admit(principal, SelfLimiter::Kind::kRead, 0, response);
  }
  Result<void> admit_reset(const control::Principal& principal) override {
    return engine_.admit_reset(principal);
  }
  void tick() override {
    client_.tick();
    policies_.tick(parts_.clock.now_us());
  }

 private:
  void answer_switch(const AdminCall& call, net::HttpReply& reply);

  const AdminParts parts_;
  control::Authenticator authenticator_;
  SelfLimiter engine_;
  ControlPlaneClient client_;
  PolicyService policies_;
};

}  // namespace sluice::admin

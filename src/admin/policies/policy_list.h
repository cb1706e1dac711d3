#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/control_plane_client.h"
#include "control/access/principal.h"
#include "net/http/http_api.h"
#include "policy/snapshot/snapshot.h"

// ListPolicies of sluice.v1.RateLimiter.
namespace sluice::admin {

// The policies at one moment, ordered by id. Takes eight bytes per policy: the documents are written one by
// one, as the client reads them.
struct PolicyList {
  std::shared_ptr<const Snapshot> snapshot;  // keeps the policies alive
  std::vector<const CompiledPolicy*> policies;

  // The policies that the principal may see; with a tenant, only those of that tenant.
  static PolicyList of(std::shared_ptr<const Snapshot> snapshot, const control::Principal& principal,
                       std::string_view tenant);
};

class PolicyListing;

// The running ListPolicies calls of one loop. Their number is limited in total and per admin. Lives on the
// loop's thread.
class PolicyListings {
 public:
  // A sentence that says why this admin cannot start another call; empty: they can.
  std::string refusal(const std::string& admin) const;
  // Ends the calls of clients that read too slowly, to make room for others.
  void cut_slow_readers(std::int64_t now_us);

 private:
  friend class PolicyListing;
  std::vector<PolicyListing*> open_;
};

// One call: reads the request, has the list built where that delays no check, and sends it. Lives on a loop's
// thread.
//
// A client has kPolicyListPatienceUs, plus the time that a slow network would need for what it has read so
// far. Then the call ends, so that a client that reads nothing cannot hold a slot, and an old snapshot,
// forever.
class PolicyListing final : public net::GrpcStreamHandler {
 public:
  // REQUIRES: all outlive this object.
  PolicyListing(ControlPlaneClient& client, net::GrpcStream& stream, control::Principal principal,
                PolicyListings& listings);
  ~PolicyListing() override { leave(); }
  PolicyListing(const PolicyListing&) = delete;
  PolicyListing& operator=(const PolicyListing&) = delete;

  void on_message(std::string_view message) override;
  void on_half_close() override;
  void on_room() override;

  const std::string& admin() const { return principal_.name; }
  // Ends the call if the client reads too slowly.
  void look(std::int64_t now_us);

 private:
  void leave();
  void begin(PolicyList list);
  void finish(const net::GrpcStatus& status);

  ControlPlaneClient& client_;
  net::GrpcStream& stream_;
  const control::Principal principal_;
  PolicyListings& listings_;
  // Lets the list, when it arrives, find out whether the call still exists.
  const std::shared_ptr<PolicyListing*> self_;
  bool asked_ = false;
  bool finished_ = false;
  bool has_list_ = false;
  PolicyList list_;
  std::size_t next_ = 0;  // the next to send
  std::int64_t sent_bytes_ = 0;
  std::int64_t since_us_ = 0;  // the first look; 0: none yet
};

}  // namespace sluice::admin

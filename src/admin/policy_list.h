#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/plane_link.h"
#include "control/principal.h"
#include "net/http_api.h"
#include "policy/snapshot.h"

// ListPolicies of sluice.v1.RateLimiter.
namespace sluice::admin {

// Policies as they were at one moment, in the order of their ids. Eight bytes for each: their documents are
// written one by one, as the reader takes them.
struct PolicyList {
  std::shared_ptr<const Snapshot> snapshot;  // keeps the policies
  std::vector<const CompiledPolicy*> policies;

  // Those that the principal may see; with a tenant, only those of that tenant.
  static PolicyList of(std::shared_ptr<const Snapshot> snapshot, const control::Principal& principal,
                       std::string_view tenant);
};

class PolicyListing;

// The calls of one loop that are under way: so many of all admins, and fewer of each. Lives on its thread.
class PolicyListings {
 public:
  // A sentence that says why there is no room for one more of this admin's; empty: there is.
  std::string refusal(const std::string& admin) const;
  // Those who read too slowly are told so, and give way to others.
  void cut_slow_readers(std::int64_t now_us);

 private:
  friend class PolicyListing;
  std::vector<PolicyListing*> open_;
};

// One call: reads the question, has the list made where that delays no check, and sends it. Lives on a loop's
// thread.
//
// A reader has kPolicyListPatienceUs, and as much longer as a slow network would take for what it has read;
// then the call ends, so that nobody can keep a place, and the policies of long ago, by reading nothing.
class PolicyListing final : public net::GrpcStreamHandler {
 public:
  // All outlive it.
  PolicyListing(PlaneLink& link, net::GrpcStream& stream, control::Principal principal,
                PolicyListings& listings);
  ~PolicyListing() override { leave(); }
  PolicyListing(const PolicyListing&) = delete;
  PolicyListing& operator=(const PolicyListing&) = delete;

  void on_message(std::string_view message) override;
  void on_half_close() override;
  void on_room() override;

  const std::string& admin() const { return principal_.name; }
  // Ends the call if its reader is too slow.
  void look(std::int64_t now_us);

 private:
  void leave();
  void begin(PolicyList list);
  void finish(const net::GrpcStatus& status);

  PlaneLink& link_;
  net::GrpcStream& stream_;
  const control::Principal principal_;
  PolicyListings& listings_;
  // Lets the list, when it comes, see whether somebody still waits for it.
  const std::shared_ptr<PolicyListing*> self_;
  bool asked_ = false;
  bool finished_ = false;
  bool has_list_ = false;
  PolicyList list_;
  std::size_t next_ = 0;  // to be sent
  std::int64_t sent_bytes_ = 0;
  std::int64_t since_us_ = 0;  // the first look; 0: there was none
};

}  // namespace sluice::admin

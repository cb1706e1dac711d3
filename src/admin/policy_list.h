#pragma once

#include <cstddef>
#include <memory>
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

// One call: reads the question, has the list made where that delays no check, and sends it. Lives on a loop's
// thread.
class PolicyListing final : public net::GrpcStreamHandler {
 public:
  // `open_lists` counts such objects; it and the others outlive this one.
  PolicyListing(PlaneLink& link, net::GrpcStream& stream, control::Principal principal,
                std::size_t& open_lists);
  ~PolicyListing() override { --open_lists_; }
  PolicyListing(const PolicyListing&) = delete;
  PolicyListing& operator=(const PolicyListing&) = delete;

  void on_message(std::string_view message) override;
  void on_half_close() override;
  void on_room() override;

 private:
  void begin(PolicyList list);
  void finish(const net::GrpcStatus& status);

  PlaneLink& link_;
  net::GrpcStream& stream_;
  const control::Principal principal_;
  std::size_t& open_lists_;
  // Lets the list, when it comes, see whether somebody still waits for it.
  const std::shared_ptr<PolicyListing*> self_;
  bool asked_ = false;
  bool finished_ = false;
  bool has_list_ = false;
  PolicyList list_;
  std::size_t next_ = 0;  // to be sent
};

}  // namespace sluice::admin

#include "admin/policies/policy_list.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/limits/control_limits.h"
#include "base/limits/stream_limits.h"
#include "doors/grpc/grpc_call.h"
#include "doors/http/problem.h"
#include "net/grpc/protobuf_wire.h"
#include "policy/document/policy_writer.h"

namespace sluice::admin {
namespace {

// Writes the message Policy. The reason for a change is in the audit log.
void write_message(const Policy& policy, std::string& out) {
  std::string document;
  write_policy(policy, document);
  net::WireWriter writer(out);
  writer.string(1, policy.id);
  writer.string(2, document);
  writer.int64(3, policy.version);
  writer.string(4, policy.owner);
}

}  // namespace

PolicyList PolicyList::of(std::shared_ptr<const Snapshot> snapshot, const control::Principal& principal,
                          std::string_view tenant) {
  PolicyList list;
  if (tenant.empty()) list.policies.reserve(snapshot->policies().size());
  snapshot->policies().for_each([&](const std::shared_ptr<const CompiledPolicy>& policy) {
    const std::string& owner_tenant = policy->source.tenant;
    if ((tenant.empty() || owner_tenant == tenant) && principal.sees_tenant(owner_tenant))
      list.policies.push_back(policy.get());
  });
  std::ranges::sort(list.policies, {}, &CompiledPolicy::name);
  list.snapshot = std::move(snapshot);
  return list;
}

PolicyListing::PolicyListing(ControlPlaneClient& client, net::GrpcStream& stream,
                             control::Principal principal, PolicyListings& listings)
    : client_(client),
      stream_(stream),
      principal_(std::move(principal)),
      listings_(listings),
      self_(std::make_shared<PolicyListing*>(this)) {
  listings_.open_.push_back(this);
}

void PolicyListing::leave() { std::erase(listings_.open_, this); }

void PolicyListing::look(std::int64_t now_us) {
  if (since_us_ == 0) since_us_ = now_us;
  const std::int64_t fair_us = kPolicyListPatienceUs + sent_bytes_ * 1'000'000 / kPolicyListBytesPerSecond;
  if (finished_ || now_us - since_us_ <= fair_us) return;
  list_ = {};
  finish({net::GrpcCode::kResourceExhausted, "the client read the list too slowly; try again", {}});
}

std::string PolicyListings::refusal(const std::string& admin) const {
  const auto is_his = [&](const PolicyListing* listing) { return listing->admin() == admin; };
  if (open_.size() < kPolicyListsMax &&
      std::cmp_less(std::ranges::count_if(open_, is_his), kPolicyListsPerAdmin))
    return "";
  return "too many ListPolicies calls are running; try again when one of them has ended";
}

void PolicyListings::cut_slow_readers(std::int64_t now_us) {
  for (PolicyListing* listing : std::vector(open_)) listing->look(now_us);  // a copy: each may leave
}

void PolicyListing::on_message(std::string_view message) {
  if (std::exchange(asked_, true)) return;
  std::string tenant;
  net::WireReader reader(message);
  while (reader.next())
    if (reader.field() == 1) tenant = reader.string();
  if (!reader.ok()) return finish(doors::grpc_status(doors::malformed_message()));
  const bool taken = client_.ask(
      [principal = principal_, tenant](AdminContext& context) {
        return PolicyList::of(context.catalog.current(), principal, tenant);
      },
      [waiting = std::weak_ptr(self_)](std::optional<PolicyList>&& list) {
        const auto self = waiting.lock();
        if (!self) return;
        if (list)
          (*self)->begin(*std::move(list));
        else
          (*self)->finish(doors::grpc_status(ControlPlaneClient::out_of_memory()));
      });
  if (!taken) finish(doors::grpc_status(ControlPlaneClient::busy()));
}

void PolicyListing::on_half_close() {
  if (!asked_) finish(doors::grpc_status(doors::malformed_message()));
}

void PolicyListing::begin(PolicyList list) {
  list_ = std::move(list);
  has_list_ = true;
  on_room();
}

void PolicyListing::on_room() {
  if (!has_list_ || finished_) return;
  std::string message;
  for (; next_ < list_.policies.size() && stream_.has_room(); ++next_) {
    message.clear();
    write_message(list_.policies[next_]->source, message);
    stream_.send(message);
    sent_bytes_ += std::ssize(message);
  }
  if (next_ == list_.policies.size()) finish({});
}

void PolicyListing::finish(const net::GrpcStatus& status) {
  finished_ = true;
  leave();
  stream_.finish(status);
}

}  // namespace sluice::admin

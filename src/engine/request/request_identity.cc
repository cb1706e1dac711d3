#include "engine/request/request_identity.h"

#include <type_traits>

#include "engine/planner/slot_tag.h"

namespace sluice {
namespace {

template <class Number>
void append_bytes(std::string& bytes, const Number& number) {
  static_assert(std::has_unique_object_representations_v<Number>);
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Length first, so that different lists of texts never give the same bytes.
void append_text(std::string& bytes, std::string_view text) {
  append_bytes(bytes, static_cast<std::uint32_t>(text.size()));
  bytes.append(text);
}

// Whether Dimensions has the values of these: they may come in a field or in the map.
bool has_field(std::string_view dimension) {
  return dimension == "tenant" || dimension == "resource" || dimension == "route" || dimension == "key";
}

// Covers what the request means, not how it says it: a key in its field and in the map are the same.
std::uint64_t fingerprint_of(const CheckRequest& request, std::string_view tenant, const KeyHasher& hasher,
                             std::string& scratch) {
  const Dimensions dimensions(request);
  scratch.assign(1, 'f');
  for (const std::string_view text :
       {request.policy_id, dimensions.tenant().empty() ? tenant : dimensions.tenant(), dimensions.resource(),
        dimensions.key()})
    append_text(scratch, text);
  append_text(scratch, request.cost ? std::to_string(*request.cost) : "");
  std::uint64_t sum = hasher(scratch).high;
  for (const Dimension& dimension : request.dimensions) {
    if (has_field(dimension.name) || dimension.value.empty()) continue;
    scratch.assign(1, 'd');
    append_text(scratch, dimension.name);
    append_text(scratch, dimension.value);
    sum += hasher(scratch).high;
  }
  return sum;
}

// Covers everything in an answer that does not come from the store: the limits, their numbers and versions.
std::uint16_t terms_of(const Plan& plan, const KeyHasher& hasher, std::string& scratch) {
  scratch.assign(1, 't');
  for (std::size_t i = 0; i < plan.size; ++i) {
    const auto& [policy, limit, numbers, result] = plan.limits[i];
    append_bytes(scratch, plan.charges[i].key);
    append_bytes(scratch, policy->version_number());
    append_bytes(scratch, policy->is_candidate);
    append_bytes(scratch, numbers->algorithm);
    append_bytes(scratch, numbers->rate);
    append_bytes(scratch, numbers->capacity);
  }
  return static_cast<std::uint16_t>(hasher(scratch).high);
}

}  // namespace

Dedupe identity_of(const CheckRequest& request, const PlannedRequest& planned, const KeyHasher& hasher,
                   std::string& scratch) {
  const std::string_view tenant = planned.tenant;
  Dedupe dedupe;
  dedupe.fingerprint = fingerprint_of(request, tenant, hasher, scratch);
  dedupe.terms = terms_of(planned.plan, hasher, scratch);
  dedupe.ttl_us = planned.policy.source.idempotency_ttl_us;
  scratch.assign(1, 'i').append(1, planned.kind);
  append_text(scratch, tenant);
  append_text(scratch, planned.policy.source.id);
  append_text(scratch, request.request_id);
  dedupe.id = hasher(scratch);
  // The records of a tenant move with it; those without a tenant are spread.
  const KeyHash of_tenant = hasher(tenant);
  dedupe.slot_tag = tenant.empty() ? slot_tag_of(dedupe.id) : slot_tag_of_tenant(of_tenant);
  const bool is_named = !tenant.empty() && planned.policies.policies_of(tenant) != nullptr;
  dedupe.owner = {.caller = hasher(request.caller).high,
                  .known_tenant = is_named ? of_tenant.high : 0,
                  .tenant = of_tenant.high};
  return dedupe;
}

}  // namespace sluice

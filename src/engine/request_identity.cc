#include "engine/request_identity.h"

#include "engine/slot_tag.h"

namespace sluice {
namespace {

// Length first, so that no two lists of texts make the same bytes.
void append_text(std::string& bytes, std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes.append(text);
}

std::uint64_t fingerprint_of(const CheckRequest& request, const KeyHasher& hasher, std::string& scratch) {
  scratch.assign(1, 'f');
  for (const std::string_view text : {request.policy_id, request.tenant, request.resource, request.key})
    append_text(scratch, text);
  append_text(scratch, request.cost ? std::to_string(*request.cost) : "");
  std::uint64_t sum = hasher(scratch).high;
  for (const Dimension& dimension : request.dimensions) {
    scratch.assign(1, 'd');
    append_text(scratch, dimension.name);
    append_text(scratch, dimension.value);
    sum += hasher(scratch).high;
  }
  return sum;
}

}  // namespace

Dedupe identity_of(const CheckRequest& request, const CompiledPolicy& policy, char part,
                   const KeyHasher& hasher, std::string& scratch) {
  Dedupe dedupe;
  dedupe.fingerprint = fingerprint_of(request, hasher, scratch);
  dedupe.ttl_us = policy.source.idempotency_ttl_us;
  scratch.assign(1, 'i').append(1, part);
  const std::string_view tenant = Dimensions(request).tenant();
  append_text(scratch, tenant);
  append_text(scratch, policy.source.id);
  append_text(scratch, request.request_id);
  dedupe.id = hasher(scratch);
  // A tenant that moves takes its records along; those without a tenant are spread.
  const KeyHash of_tenant = hasher(tenant);
  dedupe.slot_tag = tenant.empty() ? slot_tag_of(dedupe.id) : slot_tag_of_tenant(of_tenant);
  dedupe.owner = of_tenant.high;
  return dedupe;
}

}  // namespace sluice

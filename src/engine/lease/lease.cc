#include "engine/lease/lease.h"

#include <algorithm>
#include <utility>

#include "base/arith.h"
#include "base/limits.h"
#include "base/limits/lease_limits.h"
#include "base/secret/same_secret.h"
#include "base/text/big_endian.h"
#include "base/text/encode.h"

namespace sluice {
namespace {

constexpr char kVersion = 2;
constexpr std::size_t kSealBytes = 8;

void append_part(std::string& out, std::string_view text) {
  append_number(out, text.size(), 2);
  out.append(text);
}

std::string seal_of(std::string_view bytes, const KeyHasher& hasher) {
  std::string seal;
  append_number(seal, hasher(std::string("lease id ").append(bytes)).high, kSealBytes);
  return seal;
}

// Reads what was written by the functions above; after the end everything is zero, and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number(std::size_t bytes) {
    const std::string_view taken = take(bytes);
    return static_cast<std::uint64_t>(number_at(taken, 0, taken.size()));
  }
  std::int64_t signed_number(std::size_t bytes) { return static_cast<std::int64_t>(number(bytes)); }
  std::string text() { return std::string(take(number(2))); }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && rest_.empty(); }

 private:
  std::string_view take(std::size_t bytes) {
    ok_ = ok_ && bytes <= rest_.size();
    if (!ok_) return {};
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::string_view rest_;
  bool ok_ = true;
};

// Whether our own code would have written it. Nodes without a secret of their own share one that is known, so
// anybody could have.
bool is_possible(const LeaseClaim& claim) {
  const auto is_possible_charge = [](const LeaseClaim::Charged& charged) {
    return charged.outcome.reset_after_us < kExactMax && charged.at_us < kExactMax / 2;
  };
  return !claim.request_id.empty() && claim.granted >= 1 && claim.granted <= claim.want &&
         claim.want <= kLeaseUnitsMax && claim.granted_at_us < kExactMax / 2 &&
         claim.dimensions.size() <= kDimensionsMax && claim.charged.size() <= kLimitsPerCheckMax &&
         std::ranges::all_of(claim.charged, is_possible_charge);
}

// What the slowest limit lets through in the time of the extension.
std::int64_t units_in_extension(const Decision& decision) {
  std::int64_t units = decision.limits.empty() ? 0 : kLeaseUnitsMax;  // a repeat under other limits
  for (const LimitStatus& status : decision.limits) {
    const Rate& rate = status.numbers->rate;
    const double most = static_cast<double>(rate.count) * static_cast<double>(kLeaseExtensionUs) /
                        static_cast<double>(rate.period_us);
    units = std::min(units, static_cast<std::int64_t>(std::min(most, 1e9)));
  }
  return units;
}

}  // namespace

LeaseClaim::LeaseClaim(const CheckRequest& request)
    : policy_id(request.policy_id),
      tenant(request.tenant),
      resource(request.resource),
      key(request.key),
      request_id(request.request_id),
      want(request.cost.value_or(1)) {
  for (const Dimension& dimension : request.dimensions)
    dimensions.emplace_back(dimension.name, dimension.value);
}

CheckRequest LeaseClaim::request(std::vector<Dimension>& out_dimensions) const {
  out_dimensions.clear();
  for (const auto& [name, value] : dimensions) out_dimensions.push_back({.name = name, .value = value});
  CheckRequest request;
  request.policy_id = policy_id;
  request.tenant = tenant;
  request.resource = resource;
  request.key = key;
  request.request_id = request_id;
  request.dimensions = out_dimensions;
  request.cost = want;
  return request;
}

std::string to_lease_id(const LeaseClaim& claim, const KeyHasher& hasher) {
  std::string bytes(1, kVersion);
  append_number(bytes, static_cast<std::uint64_t>(claim.want), 4);
  append_number(bytes, static_cast<std::uint64_t>(claim.granted), 4);
  append_number(bytes, static_cast<std::uint64_t>(claim.granted_at_us), 7);
  append_number(bytes, claim.terms, 2);
  for (const std::string* text :
       {&claim.policy_id, &claim.tenant, &claim.resource, &claim.key, &claim.request_id})
    append_part(bytes, *text);
  append_number(bytes, claim.dimensions.size(), 1);
  for (const auto& [name, value] : claim.dimensions) {
    append_part(bytes, name);
    append_part(bytes, value);
  }
  append_number(bytes, claim.charged.size(), 1);
  for (const auto& [outcome, at_us] : claim.charged) {
    append_number(bytes, static_cast<std::uint64_t>(outcome.remaining), 4);
    append_number(bytes, static_cast<std::uint64_t>(outcome.reset_after_us), 7);
    append_number(bytes, static_cast<std::uint64_t>(at_us), 7);
  }
  bytes += seal_of(bytes, hasher);
  return to_hex(bytes);
}

Error unknown_lease() {
  return {ErrorCode::kNotFound,
          "there is no such lease: it has expired, was returned before, or is not one of this server's; "
          "nothing was given back",
          "lease_id"};
}

Result<LeaseClaim> read_lease_id(std::string_view id, const KeyHasher& hasher) {
  if (id.empty()) return invalid("lease_id", "must be the lease_id of an earlier answer");
  const std::optional<std::string> bytes = id.size() <= kLeaseIdBytesMax ? from_hex(id) : std::nullopt;
  if (!bytes || bytes->size() <= kSealBytes || bytes->front() != kVersion)
    return std::unexpected(unknown_lease());
  const std::string_view sealed = std::string_view(*bytes).substr(0, bytes->size() - kSealBytes);
  if (!is_same_secret(seal_of(sealed, hasher), std::string_view(*bytes).substr(sealed.size())))
    return std::unexpected(unknown_lease());
  Reader reader(sealed.substr(1));
  LeaseClaim claim;
  claim.want = reader.signed_number(4);
  claim.granted = reader.signed_number(4);
  claim.granted_at_us = reader.signed_number(7);
  claim.terms = static_cast<std::uint16_t>(reader.number(2));
  for (std::string* text : {&claim.policy_id, &claim.tenant, &claim.resource, &claim.key, &claim.request_id})
    *text = reader.text();
  for (std::uint64_t left = reader.number(1); left > 0 && reader.ok(); --left) {
    std::string name = reader.text();
    claim.dimensions.emplace_back(std::move(name), reader.text());
  }
  for (std::uint64_t left = reader.number(1); left > 0 && reader.ok(); --left) {
    Outcome outcome{.allowed = true};
    outcome.remaining = reader.signed_number(4);
    outcome.reset_after_us = reader.signed_number(7);
    claim.charged.push_back({outcome, reader.signed_number(7)});
  }
  if (!reader.at_end() || !is_possible(claim)) return std::unexpected(unknown_lease());
  return claim;
}

namespace {

std::int64_t cost_of_check(const LeaseClaim& claim, const Decision& decision) {
  std::vector<Dimension> dimensions;
  const CheckRequest request = claim.request(dimensions);
  const std::string_view resource = Dimensions(request).resource();
  std::int64_t most = 0;
  for (const LimitStatus& status : decision.limits) {
    const std::int64_t cost = status.policy->cost_of(resource);
    if (cost == 0) return 0;
    most = std::max(most, cost);
  }
  return most;
}

}  // namespace

Lease make_lease(LeaseClaim claim, const Decision& decision, const KeyHasher& hasher, std::int64_t now_us) {
  Lease lease;
  lease.refresh_after_ms = kLeaseRefreshUs / 1000;
  lease.replayed = decision.replayed;
  if (decision.policy) lease.policy_version = decision.policy->version_text();
  lease.check_cost = cost_of_check(claim, decision);
  if (decision.cost == 0) {
    lease.retry_after_ms = decision.retry_after_ms();
    return lease;
  }
  claim.granted = lease.granted = decision.cost;
  claim.granted_at_us = decision.now_us;
  for (const LimitStatus& status : decision.limits)
    claim.charged.push_back({status.result->outcome, status.result->charged_at_us});
  // A repeat is told later than the first answer was. Our clock may differ a little from the store's, so a
  // fresh lease is not judged by it.
  const std::int64_t age_us =
      decision.replayed ? std::clamp<std::int64_t>(now_us - decision.now_us, 0, kLeaseLifeUs) : 0;
  lease.id = to_lease_id(claim, hasher);
  lease.expires_after_ms = (kLeaseLifeUs - age_us) / 1000;
  lease.expires_unix_ms = (decision.now_us + kLeaseLifeUs) / 1000;
  lease.safe_capacity =
      std::min(lease.granted * (kLeaseExtensionUs / kLeaseRefreshUs), units_in_extension(decision));
  return lease;
}

}  // namespace sluice

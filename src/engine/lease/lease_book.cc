#include "engine/lease/lease_book.h"

#include <algorithm>

#include "base/arith.h"
#include "base/limits/lease_limits.h"

namespace sluice {
namespace {

constexpr std::size_t kNameBytes = 16;

std::string name_of(std::string_view lease_id) {
  return std::string(lease_id.substr(lease_id.size() - std::min(lease_id.size(), kNameBytes)));
}

std::size_t bytes_of(const LeaseBook::Entry& entry) {
  std::size_t bytes = 0;
  for (const std::string* text :
       {&entry.name, &entry.tenant, &entry.policy_id, &entry.policy_version, &entry.resource})
    bytes += text->size();
  return bytes;
}

}  // namespace

void LeaseBook::add(const Lease& lease, const LeaseClaim& claim, std::string_view tenant,
                    std::int64_t now_us) {
  const std::string_view version = lease.policy_version;
  Entry entry{.name = name_of(lease.id),
              .tenant = std::string(tenant),
              .policy_id = std::string(version.substr(0, version.rfind('#'))),
              .policy_version = lease.policy_version,
              .resource = claim.resource,
              .granted = lease.granted,
              .expires_unix_ms = lease.expires_unix_ms,
              .over_at_us = now_us + lease.expires_after_ms * 1000};
  const Lock lock(mutex_);
  expire(now_us);
  if (by_name_.contains(entry.name)) return;
  if (const auto owner = tenants_.find(entry.tenant);
      owner != tenants_.end() && owner->second.size() >= kLeasesListedPerTenantMax)
    stop_listing(owner->second.front());
  bytes_ += bytes_of(entry);
  while (!entries_.empty() && (entries_.size() >= kLeasesListedMax || bytes_ > kLeasesListedBytesMax))
    stop_listing(entries_.begin());
  OfTenant& of_tenant = tenants_[entry.tenant];
  entries_.push_back({std::move(entry), of_tenant.end()});
  const auto added = std::prev(entries_.end());
  by_name_.emplace(added->entry.name, added);
  added->of_tenant = of_tenant.insert(of_tenant.end(), added);
}

void LeaseBook::remove(std::string_view lease_id) {
  const Lock lock(mutex_);
  if (const auto found = by_name_.find(name_of(lease_id)); found != by_name_.end()) erase(found->second);
}

void LeaseBook::erase(Entries::iterator listed) {
  const Entry& entry = listed->entry;
  const auto owner = tenants_.find(entry.tenant);
  owner->second.erase(listed->of_tenant);
  if (owner->second.empty()) tenants_.erase(owner);
  by_name_.erase(entry.name);
  bytes_ -= bytes_of(entry);
  entries_.erase(listed);
}

// Makes room. Its units may still be spent.
void LeaseBook::stop_listing(Entries::iterator listed) {
  const Entry& entry = listed->entry;
  unlisted_[ceil_div(entry.over_at_us, kSecondUs)][entry.policy_id] += entry.granted;
  erase(listed);
}

void LeaseBook::expire(std::int64_t now_us) {
  while (!entries_.empty() && entries_.front().entry.over_at_us <= now_us) erase(entries_.begin());
  while (!unlisted_.empty() && unlisted_.begin()->first * kSecondUs <= now_us)
    unlisted_.erase(unlisted_.begin());
}

std::vector<LeaseBook::Entry> LeaseBook::list(std::string_view tenant, std::string_view policy_id,
                                              std::size_t most, std::int64_t now_us) {
  const Lock lock(mutex_);
  expire(now_us);
  std::vector<Entry> found;
  for (const auto& [entry, of_tenant] : entries_) {
    if (found.size() == most) break;
    if (!tenant.empty() && entry.tenant != tenant) continue;
    if (!policy_id.empty() && entry.policy_id != policy_id) continue;
    found.push_back(entry);
  }
  return found;
}

std::map<std::string, std::int64_t> LeaseBook::units_outstanding(std::int64_t now_us) {
  const Lock lock(mutex_);
  expire(now_us);
  std::map<std::string, std::int64_t> units;
  for (const auto& [entry, of_tenant] : entries_) units[entry.policy_id] += entry.granted;
  for (const auto& [second, by_policy] : unlisted_)
    for (const auto& [policy_id, granted] : by_policy) units[policy_id] += granted;
  return units;
}

}  // namespace sluice

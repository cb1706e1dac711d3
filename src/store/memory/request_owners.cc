#include "store/memory/request_owners.h"

#include <utility>

namespace sluice {

RequestOwners::Owner& RequestOwners::at(const Dedupe::Owner& owner) {
  Owner* at = &all_;
  try {
    for (const std::uint64_t id : {owner.caller, owner.known_tenant, owner.tenant})
      at = &place_below(*at, id);
  } catch (...) {
    remove_if_empty(*at);
    throw;
  }
  return *at;
}

// Throws std::bad_alloc, and then nothing has changed.
RequestOwners::Owner& RequestOwners::place_below(Owner& above, std::uint64_t id) {
  if (const auto known = above.below.find(id); known != above.below.end()) return *known->second;
  auto made = std::make_unique<Owner>();
  made->above = &above;
  made->id = id;
  Owner& owner = *made;
  const auto place = above.by_bytes.insert(&owner).first;
  try {
    above.below.emplace(id, std::move(made));
  } catch (...) {
    above.by_bytes.erase(place);
    throw;
  }
  change_bytes(owner, kOwnerBytes);
  return owner;
}

void RequestOwners::change_bytes(Owner& owner, std::uint64_t by) {
  for (Owner* each = &owner; each != &all_; each = each->above) {
    auto place = each->above->by_bytes.extract(each);
    each->bytes += by;
    each->above->by_bytes.insert(std::move(place));
  }
  all_.bytes += by;
}

void RequestOwners::remove_if_empty(Owner& owner) {
  for (Owner* each = &owner; each != &all_ && each->oldest == nullptr && each->below.empty();) {
    change_bytes(*each, 0 - kOwnerBytes);
    Owner* const gone = std::exchange(each, each->above);
    each->by_bytes.erase(gone);
    each->below.erase(std::uint64_t{gone->id});
  }
}

RequestOwners::Owner& RequestOwners::owner_to_evict_from() {
  Owner* owner = &all_;
  while (!owner->by_bytes.empty()) owner = *owner->by_bytes.rbegin();
  return *owner;
}

}  // namespace sluice

#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>

#include "store/store.h"

namespace sluice {

struct RequestRecord;

// The owners of a RequestLog's records: how much memory each takes, and which one loses a record next. Not
// thread-safe.
//
//   all ─┬─ caller ─┬─ a tenant that policies name ─── the tenant
//        │          └─ tenants that no policy names ─┬─ a tenant
//        └─ caller …                                 └─ a tenant …
//
// The largest owner loses a record first: the largest caller, and of that caller the largest part, and so on.
// So each of n callers has an n-th of the memory that nobody can take from it, however many tenants the
// others invent. The same holds for the tenants of a caller.
class RequestOwners {
 public:
  // A node of the tree. The leaves have records, from the oldest to the newest.
  struct Owner {
    Owner* above = nullptr;
    std::uint64_t id = 0;
    std::uint64_t bytes = 0;  // including everything below it
    RequestRecord* oldest = nullptr;
    RequestRecord* newest = nullptr;

   private:
    friend class RequestOwners;
    struct TakesLess {
      bool operator()(const Owner* a, const Owner* b) const {
        return a->bytes != b->bytes ? a->bytes < b->bytes : a->id < b->id;
      }
    };
    std::unordered_map<std::uint64_t, std::unique_ptr<Owner>> below;
    std::set<Owner*, TakesLess> by_bytes;  // the same owners
  };

  // The memory of each node, without its records.
  static constexpr std::uint64_t kOwnerBytes = 256;

  // Finds or makes the node of this owner. Throws std::bad_alloc, and then nothing has changed.
  Owner& at(const Dedupe::Owner& owner);

  // Counts bytes of the owner's records.
  void add_bytes(Owner& owner, std::uint64_t bytes) { change_bytes(owner, bytes); }
  void take_bytes(Owner& owner, std::uint64_t bytes) { change_bytes(owner, 0 - bytes); }

  // Removes the owner if it has no records, and then every parent that is left empty.
  void remove_if_empty(Owner& owner);

  // The owner whose oldest record goes next. REQUIRES: !empty()
  Owner& owner_to_evict_from();
  bool empty() const { return all_.below.empty(); }

  std::uint64_t bytes() const { return all_.bytes; }

 private:
  Owner& place_below(Owner& above, std::uint64_t id);
  void change_bytes(Owner& owner, std::uint64_t by);

  Owner all_;
};

}  // namespace sluice

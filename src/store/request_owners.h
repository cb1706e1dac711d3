#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>

#include "store/async_store.h"

namespace sluice {

struct RequestRecord;

// Whose the records of a RequestLog are: who takes how much memory, and who has to give some. Not
// thread-safe.
//
//   all ─┬─ caller ─┬─ a tenant that policies name ─── the tenant
//        │          └─ tenants whom no policy names ─┬─ a tenant
//        └─ caller …                                 └─ a tenant …
//
// Who takes the most gives first: of the callers one, of what that has one, and so on. So of n callers each
// has an n-th that nobody can take from it, however many tenants the others invent; and the same holds for
// the tenants of a caller.
class RequestOwners {
 public:
  // A place in the tree. The outermost have records, from the oldest to the newest.
  struct Owner {
    Owner* above = nullptr;
    std::uint64_t id = 0;
    std::uint64_t bytes = 0;  // with all below it
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
    std::set<Owner*, TakesLess> by_bytes;  // the same
  };

  // What each place costs beside its records.
  static constexpr std::uint64_t kOwnerBytes = 256;

  // New if need be. Throws std::bad_alloc, and then nothing has changed.
  Owner& at(const Dedupe::Owner& owner);

  // Of its records.
  void add_bytes(Owner& owner, std::uint64_t bytes) { change_bytes(owner, bytes); }
  void take_bytes(Owner& owner, std::uint64_t bytes) { change_bytes(owner, 0 - bytes); }

  // Forgets it if it has no records, and then whoever has nothing else.
  void remove_if_empty(Owner& owner);

  // Whose oldest record goes next. REQUIRES: !empty()
  Owner& greediest();
  bool empty() const { return all_.below.empty(); }

  std::uint64_t bytes() const { return all_.bytes; }

 private:
  Owner& place_below(Owner& above, std::uint64_t id);
  void change_bytes(Owner& owner, std::uint64_t by);

  Owner all_;
};

}  // namespace sluice

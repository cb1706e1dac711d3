#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithm/step.h"
#include "base/error.h"
#include "base/secret/hash.h"
#include "engine/decision/decision.h"
#include "engine/request/check_request.h"

// A lease: units of all limits of a request, charged in one atomic step, that its holder may spend without
// asking until it expires.
//
//   holder                            server                            store
//   lease, want 100       ──────────► charge up to 100       ─────────► 40 fit: charged, and recorded
//   spends 25 of 40       ◄────────── granted 40, lease id
//   return, unused 15     ──────────► give back at most 40   ─────────► the record is removed: once
//
// The store's record is that of a request id (store.h), and lives as long as the lease. So nothing else is
// stored: the lease id itself says what was asked and granted, and any node can take units back. An id that
// somebody has made up finds no record and gives nothing back.
namespace sluice {

// What the holder gets.
struct Lease {
  std::string id;  // empty: nothing was granted
  std::int64_t granted = 0;
  std::int64_t expires_unix_ms = 0;
  std::int64_t expires_after_ms = 0;
  std::int64_t refresh_after_ms = 0;  // when a busy holder should ask again
  // Units that the holder may spend, once, while no server can be reached: at the rate of this lease, and of
  // the slowest limit, for a minute.
  std::int64_t safe_capacity = 0;
  std::int64_t retry_after_ms = 0;  // if nothing was granted: when a unit will fit; -1: never
  std::string policy_version;
  // The units to spend for a check of this request that names no cost: the most that one of its policies
  // asks. 0: such checks are free somewhere; ask the server.
  std::int64_t check_cost = 0;
  bool replayed = false;
};

// What a lease id says.
struct LeaseClaim {
  std::string policy_id, tenant, resource, key, request_id;
  std::vector<std::pair<std::string, std::string>> dimensions;
  std::int64_t want = 0;
  std::int64_t granted = 0;
  std::int64_t granted_at_us = 0;  // the store's time
  std::uint16_t terms = 0;         // of Dedupe: a hash of the limits that were charged
  // One per limit, to give back exactly; empty: not known.
  struct Charged {
    Outcome outcome;
    std::int64_t at_us = 0;  // ChargeResult::charged_at_us
  };
  std::vector<Charged> charged;

  // Without what was granted.
  explicit LeaseClaim(const CheckRequest& request);
  LeaseClaim() = default;

  // The request that was made. Valid as long as the claim and `out_dimensions`.
  CheckRequest request(std::vector<Dimension>& out_dimensions) const;
};

// The id is hexadecimal, and ends with a hash, so that a damaged one is told apart from an unknown one.
std::string to_lease_id(const LeaseClaim& claim, const KeyHasher& hasher);
// kNotFound: it is not a lease id of these nodes.
Result<LeaseClaim> read_lease_id(std::string_view id, const KeyHasher& hasher);

// kNotFound: there is no such lease, or no longer.
Error unknown_lease();

// The answer to the holder. `decision.cost` is what was granted; `now_us` is the process's time.
Lease make_lease(LeaseClaim claim, const Decision& decision, const KeyHasher& hasher, std::int64_t now_us);

}  // namespace sluice

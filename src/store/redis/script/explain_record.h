#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "store/redis/script/wire.h"
#include "store/store.h"

namespace sluice {

// The script's own account of a check: the record of a request id, and the explanation of sliding logs.
//
//   fingerprint 6 | terms 2 | now 7 | flags 1 | entries | granted 4, of a lease and its refund only
//   each entry:  flags 1 | remaining 4 | retry_after + 1  7 | reset_after 7 | denied_cost 3
//
// A look at a log that is used up is not denied, and has the wait for one unit in place of retry_after.
//
// Flags: 1 admitted, 2 was told again (Dedupe::is_part only); of an entry: 1 had room, 2 warning, 4
// throttled.
class ExplainRecord {
 public:
  static constexpr std::size_t kHeaderBytes = 16, kEntryBytes = 22, kGrantedBytes = 4;

  static bool is_one(std::string_view bytes) {
    if (bytes.size() < kHeaderBytes) return false;
    const std::size_t after_entries = (bytes.size() - kHeaderBytes) % kEntryBytes;
    return after_entries == 0 || after_entries == kGrantedBytes;
  }

  // The flags that a record must have for a refund to give its charge back.
  static constexpr std::uint8_t kFlagsToRefund = 1;

  // REQUIRES: is_one(bytes)
  explicit ExplainRecord(std::string_view bytes) : bytes_(bytes) {}

  // The units of a lease; 0 for anything else.
  std::int64_t granted() const {
    return is_lease() ? number_at(bytes_, bytes_.size() - kGrantedBytes, kGrantedBytes) : 0;
  }

  // Fills in the call's answer; without results if the record has other terms or another number of charges.
  void read(StoreCall& call) const {
    const auto flags = static_cast<std::uint8_t>(bytes_[15]);
    call.now_us = number_at(bytes_, 8, 7);
    call.verdict = (flags & 1) != 0 ? Verdict::kAllowed : Verdict::kDenied;
    call.granted = granted();
    if (call.dedupe && number_at(bytes_, 6, 2) != call.dedupe->terms) return;
    const std::size_t granted_bytes = is_lease() ? kGrantedBytes : 0;
    if (bytes_.size() != kHeaderBytes + kEntryBytes * call.results.size() + granted_bytes) return;
    for (std::size_t i = 0; i < call.results.size(); ++i) {
      ChargeResult& result = call.results[i];
      const std::int64_t seen_us = result.one_unit_after_us;  // of what is no log we know it ourselves
      result = entry(kHeaderBytes + i * kEntryBytes);
      if (call.charges[i].cost > 0) continue;
      result.one_unit_after_us = seen_us;
      if (result.outcome.allowed && result.outcome.retry_after_us > 0)
        result.one_unit_after_us = std::exchange(result.outcome.retry_after_us, 0);
    }
    call.results_known = call.results.size();
  }

 private:
  bool is_lease() const { return (bytes_.size() - kHeaderBytes) % kEntryBytes == kGrantedBytes; }

  ChargeResult entry(std::size_t at) const {
    const std::int64_t flags = number_at(bytes_, at, 1);
    ChargeResult result;
    result.outcome.allowed = (flags & 1) != 0;
    result.outcome.remaining = number_at(bytes_, at + 1, 4);
    result.outcome.retry_after_us = number_at(bytes_, at + 5, 7) - 1;
    result.outcome.reset_after_us = number_at(bytes_, at + 12, 7);
    result.pressure = (flags & 4) != 0   ? Pressure::kThrottled
                      : (flags & 2) != 0 ? Pressure::kWarning
                                         : Pressure::kNormal;
    result.denied_cost = number_at(bytes_, at + 19, 3);
    return result;
  }

  std::string_view bytes_;
};

}  // namespace sluice

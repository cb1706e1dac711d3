#pragma once

#include <cstdint>
#include <string_view>

#include "store/async_store.h"
#include "store/redis/wire.h"

namespace sluice {

// The script's own account of a check: what it keeps for a request id, and what it tells of sliding logs.
//
//   fingerprint 8 | now 7 | admitted 1 | per entry: flags 1 | remaining 4 | retry_after + 1  7 | reset_after
//   7 | denied_cost 3
//
// Flags: 1 had room, 2 warning, 4 throttled.
class ExplainRecord {
 public:
  static constexpr std::size_t kHeaderBytes = 16, kEntryBytes = 22;

  static bool is_one(std::string_view bytes) {
    return bytes.size() >= kHeaderBytes && (bytes.size() - kHeaderBytes) % kEntryBytes == 0;
  }

  // REQUIRES: is_one(bytes)
  explicit ExplainRecord(std::string_view bytes) : bytes_(bytes) {}

  // Fills the call in; without results when the record is about another number of charges.
  void read(StoreCall& call) const {
    call.now_us = number_at(bytes_, 8, 7);
    call.verdict = bytes_[15] == 1 ? Verdict::kAllowed : Verdict::kDenied;
    if (bytes_.size() != kHeaderBytes + kEntryBytes * call.results.size()) return;
    for (std::size_t i = 0; i < call.results.size(); ++i)
      call.results[i] = entry(kHeaderBytes + i * kEntryBytes);
    call.results_known = call.results.size();
  }

 private:
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

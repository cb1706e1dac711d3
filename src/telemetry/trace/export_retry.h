#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace sluice {

// A collector's answer to one export, as HTTP says it. Plain data.
struct OtlpAnswer {
  int status = 0;                               // 0: no answer
  std::optional<std::int64_t> retry_after_s{};  // the header of that name, if it is a number
  std::string_view body;
};

// Reads an HTTP/1.1 answer. Nothing: it is not complete yet. A status of 0: it is no HTTP answer. `ended`:
// the collector has closed the connection.
std::optional<OtlpAnswer> read_otlp_answer(std::string_view bytes, bool ended);

// What becomes of a batch after an attempt to export it, as OTLP says: 429, 502, 503, 504 and no answer are
// tried again, later and later, or when Retry-After says; everything else is final. A batch that could not be
// exported for a minute is dropped, because newer spans are worth more. Not thread-safe.
class ExportRetry {
 public:
  enum class Next : std::uint8_t { kDone, kAgain, kDropped };
  using Random = std::function<std::uint64_t(std::uint64_t below)>;

  explicit ExportRetry(Random random) : random_(std::move(random)) {}

  // The batch's attempt has ended so. If it is tried again, wait until next_try_us().
  Next after(const OtlpAnswer& answer, std::int64_t now_us);
  std::int64_t next_try_us() const { return next_try_us_; }

 private:
  static constexpr std::int64_t kFirstPauseUs = 1'000'000, kPauseUsMax = 30'000'000, kGiveUpUs = 60'000'000;

  const Random random_;
  std::int64_t began_us_ = 0;  // the first attempt of the batch that is tried again; 0: none is
  std::int64_t next_try_us_ = 0;
  int attempts_ = 0;
};

}  // namespace sluice

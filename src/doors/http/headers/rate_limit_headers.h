#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "doors/http/headers/quota_texts.h"
#include "engine/decision/decision.h"
#include "net/http/http_api.h"

namespace sluice::doors {

// Which families of rate limit headers an answer carries. There is no standard yet, so clients differ:
//
//   ietf     RateLimit-Policy: "burst";q=100;w=60,"day";q=5000;w=86400   every limit that applied, once
//            RateLimit: "burst";r=50;t=30                                the tightest one
//   triple   RateLimit-Limit: 100   RateLimit-Remaining: 50   RateLimit-Reset: 30
//                                                                        an older draft; seconds to go
//   x-epoch  X-RateLimit-Limit, -Remaining, -Policy, -Scope, and -Reset as Unix time in seconds
//   x-delta  the same with -Reset as seconds to go
struct HeaderDialects {
  bool ietf = true;
  bool triple = false;
  enum class X : std::uint8_t { kNone, kEpoch, kDelta } x = X::kEpoch;

  static constexpr HeaderDialects none() { return {.ietf = false, .triple = false, .x = X::kNone}; }

  // Parses "ietf,x-epoch"; "none" selects no family. x-epoch and x-delta exclude each other.
  static Result<HeaderDialects> parse(std::string_view text);
  friend bool operator==(const HeaderDialects&, const HeaderDialects&) = default;
};

// Writes the rate limit headers for a client. Not thread-safe: one per thread.
class RateLimitHeaders {
 public:
  // `seed` feeds the jitter of Retry-After.
  RateLimitHeaders(HeaderDialects dialects, std::uint64_t seed) : dialects_(dialects), random_(seed) {}

  // The headers of the chosen dialects. If any dialect is chosen and the limit is nearly used up, also
  // `X-RateLimit-State`. If the check was denied and may succeed later, also `Retry-After`, which belongs to
  // no dialect; it is the only header if no limit was evaluated. Valid until the next call, and as long as
  // the decision.
  std::span<const net::Header> make(const Decision& decision);

  // Adds them to an answer.
  void add(const Decision& decision, net::HttpResponse& response) {
    for (const auto& [name, value] : make(decision)) response.headers.emplace_back(name, value);
  }

 private:
  static constexpr std::size_t kHeadersMax = 12;  // all dialects together, and two more

  void write(const Decision& decision, TextCursor& text);
  void write_ietf(const Decision& decision, TextCursor& text);
  void write_triple(const Decision& decision, TextCursor& text);
  void write_x(const Decision& decision, TextCursor& text);
  void put(std::string_view name, std::string_view value) { headers_[size_++] = {name, value}; }
  void put_number(std::string_view name, std::int64_t value, TextCursor& text);
  std::uint64_t next_random();

  HeaderDialects dialects_;
  std::uint64_t random_;
  QuotaTexts quotas_;
  std::array<net::Header, kHeadersMax> headers_;
  std::size_t size_ = 0;
  std::string text_;  // of the values
};

// Distinguishes limits of the same name. Headers and problems call a limit "burst" or, if a limit of another
// policy that applied has the same name, "api.read.burst". Returns "api.read", or an empty view if the name
// is unique.
std::string_view qualifier(const Decision& decision, const LimitStatus& status);

// How long to tell a denied client to wait, in whole seconds, at least 1: the exact wait plus a random time
// of at most the same length, so that clients that were denied together do not return together. Never earlier
// than the exact wait. REQUIRES: retry_after_us >= 0.
std::int64_t jittered_retry_after_s(std::int64_t retry_after_us, std::uint64_t random);

}  // namespace sluice::doors

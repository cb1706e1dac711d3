#include "doors/rate_limit_headers.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "base/arith.h"
#include "base/limits.h"
#include "doors/text.h"

namespace sluice::doors {
namespace {

constexpr std::int64_t kUsPerSecond = 1'000'000;
constexpr std::size_t kNumbersRoom = 48;                             // of one list member beside its name
constexpr std::int64_t kStructuredIntegerMax = 999'999'999'999'999;  // 15 digits (RFC 9651)

std::int64_t seconds_up(std::int64_t us) { return ceil_div(std::max<std::int64_t>(us, 0), kUsPerSecond); }

// A header with a number as its value.
void add_number(net::HttpResponse& response, std::string_view name, std::int64_t value) {
  char digits[kNumberCharsMax];
  TextCursor cursor(digits);
  cursor.number(value);
  response.headers.emplace_back(name,
                                std::string_view(digits, static_cast<std::size_t>(cursor.at() - digits)));
}

// Bytes that a structured string can't hold are percent-encoded; names are ASCII nearly always.
void structured_characters(TextCursor& out, std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e) {
      out.character('%');
      out.character(kHex[byte >> 4]);
      out.character(kHex[byte & 15]);
      continue;
    }
    if (c == '"' || c == '\\') out.character('\\');
    out.character(c);
  }
}

// "burst" or "api.read.burst", with its quotes.
void structured_name(TextCursor& out, std::string_view policy, std::string_view limit) {
  out.character('"');
  structured_characters(out, policy);
  if (!policy.empty()) out.character('.');
  structured_characters(out, limit);
  out.character('"');
}
constexpr std::size_t structured_name_room(std::string_view policy, std::string_view limit) {
  return 3 * (policy.size() + limit.size()) + 3;
}

void structured_integer(TextCursor& out, std::int64_t value) {
  out.number(std::clamp<std::int64_t>(value, 0, kStructuredIntegerMax));
}

// Quota and window of a limit. Their ratio is the rate, and the quota is never less than what can remain:
// 10/s with a burst of 100 is 100 in 10 seconds. Windows are whole seconds, so 5/ms is 5000 in one second.
struct QuotaWindow {
  std::int64_t quota = 0;
  std::int64_t window_s = 1;
};
QuotaWindow quota_window(const LimitParams& numbers) {
  const bool by_capacity =
      numbers.is_bucket() && numbers.capacity > numbers.rate.count && numbers.full_us > 0;
  const std::int64_t quota = by_capacity ? numbers.capacity : numbers.rate.count;
  const std::int64_t window_us = by_capacity ? numbers.full_us : numbers.rate.period_us;
  if (window_us >= kUsPerSecond) return {quota, seconds_up(window_us)};
  return {mul_add_floor_div(quota, kUsPerSecond, 0, std::max<std::int64_t>(window_us, 1)), 1};
}

// Seconds until more may pass: the wait of a denied check; else until a bucket gains its next unit or a
// window ends. Nothing to wait for: -1.
std::int64_t more_quota_after_s(const Decision& decision) {
  const Outcome& outcome = decision.tightest->result->outcome;
  const LimitParams& numbers = *decision.tightest->numbers;
  if (!decision.allowed)
    return outcome.retry_after_us == kNever ? -1
                                            : std::max<std::int64_t>(seconds_up(outcome.retry_after_us), 1);
  if (outcome.remaining >= numbers.capacity) return -1;
  const std::int64_t interval_up_us = numbers.interval_us + (numbers.interval_remainder != 0 ? 1 : 0);
  const std::int64_t wait_us =
      numbers.is_bucket() ? std::min(outcome.reset_after_us, interval_up_us) : outcome.reset_after_us;
  return std::max<std::int64_t>(seconds_up(wait_us), 1);
}

void append_policies(const Decision& decision, std::string& out) {
  for (const LimitStatus& status : decision.limits) {
    const std::string_view policy = qualifier(decision, status);
    const std::string_view name = status.limit->name();
    append_text(out, structured_name_room(policy, name) + kNumbersRoom, [&](TextCursor& text) {
      if (&status != decision.limits.data()) text.character(',');
      const QuotaWindow numbers = quota_window(*status.numbers);
      structured_name(text, policy, name);
      text.literal(";q=");
      structured_integer(text, numbers.quota);
      text.literal(";w=");
      structured_integer(text, numbers.window_s);
    });
  }
}

void append_remaining(const Decision& decision, std::string& out) {
  const std::string_view policy = qualifier(decision, *decision.tightest);
  const std::string_view name = decision.tightest->limit->name();
  append_text(out, structured_name_room(policy, name) + kNumbersRoom, [&](TextCursor& text) {
    structured_name(text, policy, name);
    text.literal(";r=");
    structured_integer(text, decision.remaining());
    if (const std::int64_t after_s = more_quota_after_s(decision); after_s >= 0) {
      text.literal(";t=");
      structured_integer(text, after_s);
    }
  });
}

std::int64_t reset_after_s(const Decision& decision) {
  return seconds_up(decision.tightest->result->outcome.reset_after_us);
}

}  // namespace

Result<HeaderDialects> HeaderDialects::parse(std::string_view text) {
  HeaderDialects dialects = none();
  if (text == "none") return dialects;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view name = text.substr(at, end - at);
    const bool is_x = name == "x-epoch" || name == "x-delta";
    if (is_x && dialects.x != X::kNone) return invalid("", "choose one of x-epoch and x-delta, not both");
    if (name == "ietf")
      dialects.ietf = true;
    else if (name == "triple")
      dialects.triple = true;
    else if (is_x)
      dialects.x = name == "x-epoch" ? X::kEpoch : X::kDelta;
    else
      return invalid("", "\"" + std::string(name) +
                             "\" is no header dialect; use ietf, triple, x-epoch, x-delta or none");
    at = end + 1;
  }
  return dialects;
}

std::string_view qualifier(const Decision& decision, const LimitStatus& status) {
  const auto is_namesake = [&](const LimitStatus& other) {
    return other.policy != status.policy && other.limit->name() == status.limit->name();
  };
  if (std::ranges::none_of(decision.limits, is_namesake)) return {};
  return status.policy->source.id;
}

std::int64_t jittered_retry_after_s(std::int64_t retry_after_us, std::uint64_t random) {
  assert(retry_after_us >= 0);
  const auto span = static_cast<std::uint64_t>(std::min(retry_after_us, kRetryJitterUsMax)) + 1;
  const auto extra_us = static_cast<std::int64_t>(random % span);
  return std::max<std::int64_t>(seconds_up(retry_after_us + extra_us), 1);
}

// SplitMix64: enough to spread clients, and nothing secret depends on it.
std::uint64_t RateLimitHeaders::next_random() {
  std::uint64_t z = random_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void RateLimitHeaders::add_ietf(const Decision& decision, net::HttpResponse& response) {
  value_.clear();
  append_policies(decision, value_);
  response.headers.emplace_back("ratelimit-policy", value_);
  value_.clear();
  append_remaining(decision, value_);
  response.headers.emplace_back("ratelimit", value_);
}

void RateLimitHeaders::add_triple(const Decision& decision, net::HttpResponse& response) {
  add_number(response, "ratelimit-limit", decision.limit());
  add_number(response, "ratelimit-remaining", decision.remaining());
  add_number(response, "ratelimit-reset", reset_after_s(decision));
}

void RateLimitHeaders::add_x(const Decision& decision, net::HttpResponse& response) {
  const bool epoch = dialects_.x == HeaderDialects::X::kEpoch;
  add_number(response, "x-ratelimit-limit", decision.limit());
  add_number(response, "x-ratelimit-remaining", decision.remaining());
  add_number(response, "x-ratelimit-reset",
             epoch ? ceil_div(decision.reset_unix_ms(), 1000) : reset_after_s(decision));
  response.headers.emplace_back("x-ratelimit-policy", decision.policy->source.id);
  value_.clear();
  for (const std::string& dimension : decision.tightest->limit->per()) {
    if (!value_.empty()) value_.push_back(',');
    value_.append(dimension);
  }
  response.headers.emplace_back("x-ratelimit-scope", value_);
}

void RateLimitHeaders::add(const Decision& decision, net::HttpResponse& response) {
  if (!decision.tightest) return;
  if (dialects_.x != HeaderDialects::X::kNone) add_x(decision, response);
  if (dialects_.ietf) add_ietf(decision, response);
  if (dialects_.triple) add_triple(decision, response);
  if (decision.pressure() != Pressure::kNormal && dialects_ != HeaderDialects::none())
    response.headers.emplace_back("x-ratelimit-state", to_string(decision.pressure()));
  if (const std::int64_t wait_us = decision.tightest->result->outcome.retry_after_us;
      !decision.allowed && wait_us != kNever)
    add_number(response, "retry-after", jittered_retry_after_s(wait_us, next_random()));
}

}  // namespace sluice::doors

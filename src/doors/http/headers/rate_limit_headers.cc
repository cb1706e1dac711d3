#include "doors/http/headers/rate_limit_headers.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "base/arith.h"
#include "base/limits.h"
#include "base/time_units.h"
#include "doors/text.h"

namespace sluice::doors {
namespace {

std::int64_t seconds_up(std::int64_t us) { return ceil_div(std::max<std::int64_t>(us, 0), kSecondUs); }

// The text written since `begin`.
std::string_view since(const char* begin, const TextCursor& text) {
  return {begin, static_cast<std::size_t>(text.at() - begin)};
}

// Seconds until more may pass: the wait of a denied check; else until a bucket gains its next unit or a
// window ends. -1 if there is nothing to wait for.
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

// Whether the same limit precedes this one, with another counter: checks that are decided together may share
// a limit. REQUIRES: the status is one of the decision's limits.
bool is_repeated(const Decision& decision, const LimitStatus& status) {
  for (const LimitStatus* before = decision.limits.data(); before != &status; ++before)
    if (before->limit == status.limit && before->numbers == status.numbers) return true;
  return false;
}

// Enough room for all values.
std::size_t room_for(const Decision& decision) {
  constexpr std::size_t kNumbers = 8;
  std::size_t room = kNumbers * kNumberCharsMax;
  const auto add = [&](const LimitStatus& status) {
    room += quota_room(status.policy->source.id, status.limit->name()) + 1;
  };
  for (const LimitStatus& status : decision.limits) add(status);
  add(*decision.tightest);
  for (const std::string& dimension : decision.tightest->limit->per()) room += dimension.size() + 1;
  return room;
}

// The dimensions that a limit counts by: "tenant,key".
std::string_view scope_of(const CompiledLimit& limit, TextCursor& text) {
  if (limit.per().size() == 1) return limit.per().front();
  const char* const begin = text.at();
  for (const std::string& dimension : limit.per()) {
    if (&dimension != limit.per().data()) text.character(',');
    text.text(dimension);
  }
  return since(begin, text);
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
                             "\" is not a header dialect; use ietf, triple, x-epoch, x-delta or none");
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
  const auto span = static_cast<std::uint64_t>(retry_after_us) + 1;
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

void RateLimitHeaders::put_number(std::string_view name, std::int64_t value, TextCursor& text) {
  const char* const begin = text.at();
  text.number(value);
  put(name, since(begin, text));
}

void RateLimitHeaders::write_ietf(const Decision& decision, TextCursor& text) {
  const char* begin = text.at();
  const std::string_view tightest = qualifier(decision, *decision.tightest);
  for (const LimitStatus& status : decision.limits) {
    if (is_repeated(decision, status)) continue;
    if (&status != decision.limits.data()) text.character(',');
    quotas_.write(status, &status == decision.tightest ? tightest : qualifier(decision, status), text);
  }
  put("ratelimit-policy", since(begin, text));
  begin = text.at();
  quotas_.write_name(*decision.tightest, tightest, text);
  text.literal(";r=");
  write_structured_integer(text, decision.remaining());
  if (const std::int64_t after_s = more_quota_after_s(decision); after_s >= 0) {
    text.literal(";t=");
    write_structured_integer(text, after_s);
  }
  put("ratelimit", since(begin, text));
}

void RateLimitHeaders::write_triple(const Decision& decision, TextCursor& text) {
  put_number("ratelimit-limit", decision.limit(), text);
  put_number("ratelimit-remaining", decision.remaining(), text);
  put_number("ratelimit-reset", reset_after_s(decision), text);
}

void RateLimitHeaders::write_x(const Decision& decision, TextCursor& text) {
  const bool epoch = dialects_.x == HeaderDialects::X::kEpoch;
  put_number("x-ratelimit-limit", decision.limit(), text);
  put_number("x-ratelimit-remaining", decision.remaining(), text);
  put_number("x-ratelimit-reset", epoch ? ceil_div(decision.reset_unix_ms(), 1000) : reset_after_s(decision),
             text);
  put("x-ratelimit-policy", decision.policy->source.id);
  put("x-ratelimit-scope", scope_of(*decision.tightest->limit, text));
}

void RateLimitHeaders::write(const Decision& decision, TextCursor& text) {
  if (dialects_.x != HeaderDialects::X::kNone) write_x(decision, text);
  if (dialects_.ietf) write_ietf(decision, text);
  if (dialects_.triple) write_triple(decision, text);
  if (decision.pressure() != Pressure::kNormal && dialects_ != HeaderDialects::none())
    put("x-ratelimit-state", to_string(decision.pressure()));
  if (const std::int64_t wait_us = decision.tightest->result->outcome.retry_after_us;
      !decision.allowed && wait_us != kNever)
    put_number("retry-after", jittered_retry_after_s(wait_us, next_random()), text);
}

std::span<const net::Header> RateLimitHeaders::make(const Decision& decision) {
  size_ = 0;
  text_.clear();
  if (decision.tightest)
    append_text(text_, room_for(decision), [&](TextCursor& text) { write(decision, text); });
  else if (!decision.allowed)
    append_text(text_, kNumberCharsMax, [&](TextCursor& text) {
      constexpr std::uint64_t kBaseS = kRetryBlindlyAfterMs / 1000;
      put_number("retry-after", static_cast<std::int64_t>(kBaseS + next_random() % (kBaseS + 1)), text);
    });
  return {headers_.data(), size_};
}

}  // namespace sluice::doors

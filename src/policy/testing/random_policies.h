#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "policy/document/limit_reader.h"
#include "policy/matching/pattern.h"
#include "policy/model.h"

namespace sluice::testing {

// Makes random policies that are valid but as unusual as possible. Not thread-safe.
class RandomPolicies {
 public:
  explicit RandomPolicies(std::mt19937_64& random) : random_(random) {}

  Policy next() {
    Policy policy;
    do policy.id = name();
    while (policy.id == "." || policy.id == "..");
    if (chance(2)) policy.tenant = free_text(kNameBytesMax);
    if (chance(2)) policy.resource = pattern();
    for (std::size_t i = 0, count = 1 + below(4); i < count; ++i) policy.limits.push_back(limit(i));
    for (std::size_t count = chance(2) ? below(5) : 0; count > 0; --count) add_cost(policy);
    for (std::size_t count = chance(2) ? below(4) : 0; count > 0; --count) add_tier(policy);
    policy.on_failure = static_cast<OnFailure>(below(3));
    if (chance(3)) policy.local = params(Algorithm::kGcra);
    if (chance(2)) policy.deadline_us = duration_us(kDeadlineUsMax);
    if (chance(2)) policy.idempotency_ttl_us = duration_us(kIdempotencyTtlUsMax);
    policy.shadow = chance(3);
    policy.always = chance(3);
    if (chance(2)) policy.rollout.percent = static_cast<int>(below(101));
    if (chance(2)) policy.rollout.valid_from_us = instant_us();
    if (chance(2)) policy.owner = free_text(kNameBytesMax);
    return policy;
  }

  std::size_t below(std::size_t end) { return random_() % end; }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }

 private:
  template <std::size_t kSize>
  std::string_view one_of(const std::string_view (&words)[kSize]) {
    return words[below(kSize)];
  }

  // At least one byte shorter than the maximum, so that a number can be appended.
  std::string name() {
    constexpr std::string_view kLetters = "aZ09._-:/@+~";
    constexpr std::string_view kOdd[] = {"5",  "-1",  "true", "null", "~",  "no", "1e5",        "0x1d",
                                         "a:", ".5",  "-",    "--",   ":",  "@a", "2026-12-01", "1_0",
                                         "y",  "...", "+1",   "---a", "-:", "//", ".nan"};
    if (chance(3)) return std::string(one_of(kOdd));
    std::string text;
    for (std::size_t left = 1 + below(chance(20) ? kNameBytesMax - 1 : 8); left > 0; --left)
      text += kLetters[below(kLetters.size())];
    return text;
  }

  // Text that is likely to break YAML, JSON or a careless writer.
  std::string free_text(std::size_t bytes_max) {
    constexpr std::string_view kPieces[] = {
        "a",   "Bücher",  "\"",   "\\",  "'",      " ",      "  ",     "#",      " #",     ": ",
        ":",   "- ",      "&",    "*",   "!",      "|",      ">",      "%",      "{",      "}",
        "[",   "]",       ",",    "?",   "? ",     "~",      "null",   "true",   "5",      "1e5",
        "\\n", "\\u0041", "日本", "😀",  "\u0085", "\u00a0", "\u2028", "\ufeff", "\ufffd", "<<",
        "=",   "`",       "@",    "---", "...",    "e\u0301"};
    std::string text;
    for (std::size_t left = 1 + below(6); left > 0; --left) {
      const std::string_view piece = one_of(kPieces);
      if (text.size() + piece.size() <= bytes_max) text += piece;
    }
    return text == "*" ? "star" : text;  // "*" means any resource and would be read as empty
  }

  std::string pattern() {
    for (;;) {
      std::string text = chance(8) ? std::string() : "/";
      for (std::size_t left = 1 + below(4); left > 0; --left) {
        constexpr std::string_view kSegments[] = {"users", "{id}", "*", "v1", "a b", "", "x:", "5"};
        text += chance(4) ? free_text(64) : std::string(one_of(kSegments));
        if (left > 1) text += '/';
      }
      if (chance(30)) text.insert(0, kResourceBytesMax - text.size(), chance(2) ? 'p' : '"');
      if (!text.empty() && text != "*" && parse_pattern(text)) return text;
    }
  }

  std::int64_t duration_us(std::int64_t most_us) {
    constexpr std::int64_t kUnits[] = {1'000, 1'000'000, 60'000'000, 3'600'000'000, 86'400'000'000};
    for (;;) {
      const std::int64_t unit = kUnits[below(std::size(kUnits))];
      if (unit > most_us) continue;
      const auto most = static_cast<std::size_t>(most_us / unit);
      return unit * static_cast<std::int64_t>(1 + below(chance(2) ? std::min<std::size_t>(most, 3) : most));
    }
  }

  std::int64_t instant_us() {
    const auto seconds = static_cast<std::int64_t>(below(kExactMax / 1'000'000));
    return chance(2) ? seconds * 1'000'000 : static_cast<std::int64_t>(below(kExactMax));
  }

  std::int64_t number() {
    constexpr std::size_t kMagnitudes[] = {2, 10, 1000, 1'000'000, kRateMax};
    return static_cast<std::int64_t>(chance(10) ? kRateMax
                                                : below(kMagnitudes[below(std::size(kMagnitudes))] + 1));
  }

  LimitParams params(Algorithm algorithm) {
    for (;;) {
      std::optional<std::int64_t> burst;
      if (chance(2)) burst = number();
      if (auto made = make_limit_params(algorithm, {number(), duration_us(kPeriodUsMax)}, burst))
        return *made;
    }
  }

  Limit limit(std::size_t index) {
    Limit limit;
    limit.name = chance(3) ? default_limit_name(index) : name() + std::to_string(index);
    std::set<std::string> per;
    for (std::size_t left = below(4); left > 0; --left) per.insert(name());
    limit.per = std::vector(per.begin(), per.end());
    limit.params = params(static_cast<Algorithm>(below(6)));
    limit.on_change = static_cast<OnChange>(below(3));
    limit.required = chance(4);
    limit.count_denied = chance(4);
    return limit;
  }

  void add_cost(Policy& policy) {
    const std::string text = chance(5) ? "*" : pattern();
    for (const auto& [other, cost] : policy.costs)
      if (parse_pattern(other)->canonical() == parse_pattern(text)->canonical()) return;
    policy.costs.edit().emplace(text, number());
  }

  void add_tier(Policy& policy) {
    std::vector<Limit> limits = policy.limits;
    for (Limit& each : limits) {
      if (chance(2)) continue;
      const LimitParams plain = each.params;
      each.params = params(plain.algorithm);
      // Often only one of the two numbers differs.
      const auto rate = chance(2) ? plain.rate : each.params.rate;
      const auto burst = chance(2) ? plain.capacity : each.params.capacity;
      if (auto mixed = make_limit_params(plain.algorithm, rate,
                                         plain.is_bucket() ? std::optional(burst) : std::nullopt))
        each.params = *mixed;
    }
    policy.tiers.edit().emplace(name(), std::move(limits));
  }

  std::mt19937_64& random_;
};

}  // namespace sluice::testing

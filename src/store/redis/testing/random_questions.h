#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "store/redis/script/limit_records.h"
#include "store/redis/testing/call.h"

namespace sluice {

// Random calls that meet in one batch: several on one key, with equal or different charges; on several keys,
// some of them shared; looks, refunds, repeated request ids; keys under several numbers. Not thread-safe.
class RandomQuestions {
 public:
  // A copy of the call: the call itself may be answered, and gone, before the reply arrives.
  struct Asked {
    std::unique_ptr<TestCall> call;
    std::vector<Charge> charges;
    std::vector<ChargeResult> told;
    std::optional<Dedupe> dedupe;
    std::int64_t refund_of_us = 0;
    bool is_single = false;  // it may be merged with others
  };
  struct Granted {
    std::vector<Charge> charges;
    std::vector<ChargeResult> results;
    std::int64_t now_us = 0;
  };

  RandomQuestions(ParamsTable& params, std::uint64_t seed) : params_(params), random_(seed) {
    for (std::uint64_t k = 0; k < kKeys; ++k) keys_.push_back(random_key(k));
  }

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  // Makes other keys busy; one of them may be used under other numbers, or get a new version of its limit.
  void begin_round() {
    busy_ = below(kKeys);
    wide_ = below(40) == 0;
    Key& key = keys_[below(2) == 0 ? busy_ : below(kKeys)];
    key.usual = below(3);
    if (below(2) == 0) std::swap(key.tiers[0], key.former);
  }

  // In this round calls have as many charges as possible.
  bool is_wide() const { return wide_; }

  Asked next() {
    Asked asked;
    if (!granted_.empty() && !wide_ && below(12) == 0) {
      const Granted& granted = granted_[below(granted_.size())];
      asked.charges = granted.charges;
      asked.told = granted.results;
      asked.refund_of_us = granted.now_us;
      if (below(4) == 0) asked.told.assign(asked.told.size(), {});  // the outcome is not known
    } else {
      asked.charges = random_charges();
      asked.told.resize(asked.charges.size());
      if (below(20) == 0) {
        asked.refund_of_us = Grant::kAnyTime;
        for (ChargeResult& told : asked.told) told.outcome = {true, 3, 0, 4'000'000};  // must be ignored
      }
    }
    // Few ids: repeats meet in one batch, and some come again with other charges or other limits.
    if (const std::uint64_t id = below(8); below(10) == 0 && asked.refund_of_us == 0)
      asked.dedupe = Dedupe{.id = {2, id},
                            .fingerprint = below(4) == 0 ? ~std::uint64_t{0} : 5,
                            .ttl_us = below(6) == 0 ? 1 : static_cast<std::int64_t>(1 + below(4)) * kSecond,
                            .slot_tag = static_cast<std::uint32_t>(77 + id)};
    asked.is_single = asked.charges.size() == 1 && !asked.dedupe && asked.refund_of_us == 0 &&
                      params_[asked.charges[0].params].algorithm != Algorithm::kSlidingLog;
    asked.call = std::make_unique<TestCall>(asked.charges);
    std::ranges::copy(asked.told, asked.call->results.begin());
    asked.call->dedupe = asked.dedupe;
    asked.call->refund_of_us = asked.refund_of_us;
    return asked;
  }

  // The call was admitted, and may be given back later.
  void remember(Granted granted) {
    if (granted_.size() < 20)
      granted_.push_back(std::move(granted));
    else
      granted_[below(granted_.size())] = std::move(granted);
  }

 private:
  static constexpr std::int64_t kSecond = 1'000'000;
  static constexpr std::uint64_t kKeys = 40, kAlgorithms = 6;

  // A counter with the numbers it may be used under: two tiers, those of the other version, and a custom
  // agreement.
  struct Key {
    KeyHash hash;
    std::uint32_t slot_tag = 0;
    ParamsId tiers[2] = {};
    ParamsId former = 0;
    ParamsId own = 0;
    std::uint64_t usual = 0;  // which of them is used at present
  };
  Key random_key(std::uint64_t k) {
    const auto numbers = [&](std::uint64_t algorithm) {
      LimitParams made = make_limit_params(static_cast<Algorithm>(algorithm),
                                           {static_cast<std::int64_t>(below(40) == 0 ? 0 : 1 + below(20)),
                                            static_cast<std::int64_t>(1 + below(3)) * kSecond},
                                           std::nullopt)
                             .value();
      if (below(3) == 0) made.scale = made.capacity;
      return params_.intern(made);
    };
    Key key{.hash = {random_(), random_()}, .slot_tag = static_cast<std::uint32_t>(below(1u << 30))};
    key.tiers[0] = numbers(k % kAlgorithms);
    key.tiers[1] = numbers(k % kAlgorithms);
    key.former = numbers(below(2) ? k % kAlgorithms : below(kAlgorithms));
    key.own = below(4) == 0 ? key.former : numbers(k % kAlgorithms);
    return key;
  }

  Charge random_charge(const Key& key) {
    const std::uint64_t which = !wide_ && below(200) == 0 ? below(3) : key.usual;
    const bool is_own = which == 2;
    const std::int64_t costs[] = {1, 1, 1, 1, 1, 2, 0, (params_[key.tiers[0]].capacity * 7 + 9) / 10};
    return {.key = key.hash,
            .params = is_own ? key.own : key.tiers[which],
            .cost = costs[below(std::size(costs))],
            .on_denial = below(8) == 0 ? OnDenial::kCharge : OnDenial::kFree,
            .slot_tag = key.slot_tag};
  }

  // Three keys are busy, the others not.
  std::vector<Charge> random_charges() {
    const std::uint64_t size = wide_            ? kLimitsPerCheckMax
                               : below(4) != 0  ? 1
                               : below(20) == 0 ? 1 + below(kLimitsPerCheckMax)
                                                : 2 + below(3);
    std::vector<Charge> charges;
    for (std::uint64_t first = below(6) == 0 ? below(kKeys) : busy_ + below(3), i = 0; i < size; ++i)
      charges.push_back(random_charge(keys_[(first + i) % kKeys]));
    return charges;
  }

  ParamsTable& params_;
  std::mt19937_64 random_;
  std::vector<Key> keys_;
  std::uint64_t busy_ = 0;  // the first of the busy keys
  bool wide_ = false;
  std::vector<Granted> granted_;
};

}  // namespace sluice

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "redis/protocol/resp.h"
#include "store/redis/script/stamp.h"
#include "store/redis/script/wire.h"
#include "store/testing/naive_counters.h"

namespace sluice {

// The other end of a Batch, without a server: reads a call of the script as described in script/README.md,
// decides the checks one by one on its own NaiveCounters, and answers. Not thread-safe.
//
// It knows only what is in the calls: names of keys, numbers of limits, time. So an error in a call comes
// back as a wrong answer.
class ScriptModel {
 public:
  // REQUIRES: the command contains the time of the decision.
  std::string answer(std::string_view command) {
    redis::RespParser parser;
    parser.feed(command);
    EXPECT_EQ(parser.next(), redis::RespParser::Status::kReply);
    const auto words = parser.reply().subspan(1);  // EVALSHA sha numkeys key… limits checks now_us
    const std::size_t key_count = std::stoul(std::string(words[2].bytes));
    EXPECT_EQ(words.size(), 6 + key_count);
    keys_.clear();
    for (const redis::RespValue& key : words.subspan(3, key_count)) keys_.emplace_back(key.bytes);
    clock_.set(std::stoll(std::string(words[5 + key_count].bytes)));
    read_limits(words[3 + key_count].bytes);
    return decide_all(Fields(words[4 + key_count].bytes));
  }

  // The keys of the latest call, the counters first.
  const std::vector<std::string>& keys() const { return keys_; }
  std::size_t checks() const { return verdicts_.size(); }

 private:
  // The rest of some bytes.
  class Fields {
   public:
    explicit Fields(std::string_view bytes) : bytes_(bytes) {}
    bool empty() const { return bytes_.empty(); }
    std::string_view text(std::size_t size) {
      EXPECT_GE(bytes_.size(), size) << "the call is too short";
      const std::string_view taken = bytes_.substr(0, size);
      bytes_.remove_prefix(taken.size());
      return taken;
    }
    std::int64_t number(std::size_t size) {
      const std::string_view taken = text(size);
      return number_at(taken, 0, taken.size());
    }

   private:
    std::string_view bytes_;
  };
  struct RequestId {
    std::string name;
    std::string fingerprint;
    std::int64_t ttl_us = 0;
  };
  struct Check {
    std::vector<Charge> charges;
    std::int64_t repeats = 0;
    bool is_explained = false;
    std::int64_t granted_at_us = 0;     // of a refund
    std::vector<ChargeResult> results;  // for a refund, at first: the results of the charges
    std::optional<RequestId> id;
  };
  struct Record {
    std::string bytes;
    std::int64_t expires_us = 0;
  };

  void read_limits(std::string_view bytes) {
    limits_.clear();
    for (Fields fields(bytes); !fields.empty();) {
      LimitParams numbers;
      numbers.algorithm = static_cast<Algorithm>(fields.number(1));
      numbers.rate.count = fields.number(4);
      numbers.rate.period_us = fields.number(6);
      numbers.capacity = fields.number(4);
      numbers.scale = fields.number(4);
      numbers.denominator = fields.number(4);
      numbers.interval_us = fields.number(6);
      numbers.interval_remainder = fields.number(4);
      numbers.full_us = fields.number(7);
      numbers.full_remainder = fields.number(4);
      EXPECT_EQ(fields.text(4).substr(0, short_stamp(numbers).size()), short_stamp(numbers));
      limits_.push_back(params_.intern(numbers));
    }
  }

  Charge charge(Fields& fields) {
    const std::string& name = keys_.at(static_cast<std::size_t>(fields.number(2)) - 1);
    const ParamsId limit = limits_.at(static_cast<std::size_t>(fields.number(2)) - 1);
    const bool counts_denials = fields.number(1) == 1;
    return {.key = hasher_(name),
            .params = limit,
            .cost = fields.number(4),
            .on_denial = counts_denials ? OnDenial::kCharge : OnDenial::kFree};
  }

  Check check(Fields& fields) {
    Check check;
    const std::int64_t header = fields.number(1);
    check.is_explained = header >= 128;
    check.repeats = fields.number(2);
    for (std::int64_t i = 0; i < header % 64; ++i) check.charges.push_back(charge(fields));
    check.results.resize(check.charges.size());
    if (check.repeats == 0) {
      EXPECT_TRUE(check.is_explained) << "a refund is";
      check.granted_at_us = fields.number(7);
      for (ChargeResult& told : check.results) {
        told.outcome.remaining = fields.number(4);
        told.outcome.reset_after_us = fields.number(7);
        if (check.granted_at_us == Grant::kAnyTime) EXPECT_EQ(told.outcome, Outcome()) << "nobody remembers";
      }
      // The client decides whether a charge is given back, by its cost.
      for (Charge& each : check.charges) each.on_denial = OnDenial::kFree;
    }
    if (header % 128 >= 64) {
      const auto key = static_cast<std::size_t>(fields.number(2));
      check.id = RequestId{keys_.at(key - 1), std::string(fields.text(8)), 0};
      check.id->ttl_us = fields.number(4) * 1000;
    }
    return check;
  }

  std::string decide_all(Fields fields) {
    auto counters = static_cast<std::size_t>(fields.number(2));
    if (counters >= 32'768) {
      counters -= 32'768;
      EXPECT_EQ(keys_.back(), "rl:moves");
      keys_.pop_back();
    }
    std::string values;
    for (std::size_t i = 0; i < counters; ++i) append_optional(values, value_of(keys_.at(i)));
    verdicts_.clear();
    records_.clear();
    while (!fields.empty()) decide(check(fields));
    std::string out;
    redis::append_array(out, 1 + counters + verdicts_.size() + records_.size());
    out += ':' + std::to_string(clock_.now_us()) + "\r\n" + values;
    for (const std::int64_t verdict : verdicts_) out += ':' + std::to_string(verdict) + "\r\n";
    for (const std::string& record : records_) append_optional(out, record);
    return out;
  }

  void decide(Check check) {
    if (check.id) {
      const Record& known = known_ids_[check.id->name];
      if (!known.bytes.empty() && clock_.now_us() < known.expires_us) {
        const bool is_same = known.bytes.starts_with(check.id->fingerprint.substr(0, 6));
        verdicts_.push_back(is_same ? -2 : -1);
        records_.push_back(is_same ? known.bytes : "");
        return;
      }
    }
    const std::int64_t admitted = settle(check);
    verdicts_.push_back(admitted);
    if (check.id || check.is_explained) records_.push_back(record_of(check, admitted > 0));
    // A decision that has charged nothing is decided anew.
    const bool has_charged = std::ranges::any_of(check.charges, [&](const Charge& each) {
      return each.cost > 0 && (admitted > 0 || each.on_denial == OnDenial::kCharge);
    });
    if (check.id && has_charged)
      known_ids_[check.id->name] = {records_.back(), clock_.now_us() + check.id->ttl_us};
  }

  // How many of the repeats are admitted.
  std::int64_t settle(Check& check) {
    std::int64_t now_us = 0;
    if (check.repeats == 0) {
      naive_.refund(check.charges, check.results, check.granted_at_us, now_us);
      return 1;
    }
    std::int64_t admitted = 0;
    for (std::int64_t i = 0; i < check.repeats; ++i) {
      if (naive_.apply(check.charges, check.results, now_us) != Verdict::kAllowed) continue;
      EXPECT_EQ(admitted++, i) << "the first so many";
    }
    return admitted;
  }

  std::string record_of(const Check& check, bool admitted) const {
    std::string record = check.id ? check.id->fingerprint : std::string(8, '\0');
    append_number(record, static_cast<std::uint64_t>(clock_.now_us()), 7);
    append_number(record, admitted ? 1 : 0, 1);
    for (const ChargeResult& result : check.results) {
      const Outcome& outcome = result.outcome;
      const unsigned flags = (outcome.allowed ? 1u : 0u) | (result.pressure == Pressure::kWarning ? 2u : 0u) |
                             (result.pressure == Pressure::kThrottled ? 4u : 0u);
      append_number(record, flags, 1);
      append_number(record, static_cast<std::uint64_t>(outcome.remaining), 4);
      append_number(record, static_cast<std::uint64_t>(outcome.retry_after_us + 1), 7);
      append_number(record, static_cast<std::uint64_t>(outcome.reset_after_us), 7);
      append_number(record, static_cast<std::uint64_t>(result.denied_cost), 3);
    }
    return record;
  }

  // Empty: the key does not exist.
  std::string value_of(const std::string& name) const {
    const auto [params, kept, warned] = naive_.counter(hasher_(name));
    if (params == 0 || (kept.log.empty() && kept.state == State())) return "";
    std::string value;
    value += stamp_of(params_[params]);
    if (!kept.log.empty() && warned) ++value[0];
    for (const auto& [at_us, cost] : kept.log) {
      append_number(value, static_cast<std::uint64_t>(at_us), 7);
      append_number(value, static_cast<std::uint64_t>(cost), 4);
    }
    if (!kept.log.empty()) return value;
    const int fraction_bytes = static_cast<unsigned char>(value[0]) >= 128 ? 1 : 4;
    append_number(value, static_cast<std::uint64_t>(kept.state.at) | (warned ? 1ull << 55 : 0), 7);
    append_number(value, static_cast<std::uint64_t>(kept.state.first), fraction_bytes);
    if (kept.state.second > 0) append_number(value, static_cast<std::uint64_t>(kept.state.second), 4);
    return value;
  }

  static void append_optional(std::string& out, std::string_view bytes) {
    if (bytes.empty())
      out += "$-1\r\n";
    else
      redis::append_bulk(out, bytes);
  }

  const KeyHasher hasher_ = KeyHasher::from_text("model");
  ManualClock clock_{0};
  ParamsTable params_;
  NaiveCounters naive_{clock_, params_};
  std::map<std::string, Record> known_ids_;
  std::vector<std::string> keys_;
  std::vector<ParamsId> limits_;  // of the call
  std::vector<std::int64_t> verdicts_;
  std::vector<std::string> records_;
};

}  // namespace sluice

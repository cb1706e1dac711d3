// Batches against a model: calls go through Batch to an interpreter of the script's protocol and back, and
// each call gets the answer that it would get if the calls came one by one, in the order in which the batch
// sends them.
#include "base/time_units.h"
#include "store/redis/script/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/limits.h"
#include "base/testing/seed.h"
#include "store/redis/testing/random_questions.h"
#include "store/redis/testing/script_model.h"
#include "store/testing/naive_counters.h"

namespace sluice {
namespace {

class BatchModelTest : public testing::Test {
 protected:
  using Asked = RandomQuestions::Asked;

  struct Answer {
    Verdict verdict = Verdict::kNoAnswer;
    std::int64_t now_us = 0;
    bool replayed = false, conflict = false;
    std::size_t results_known = 0;
    std::vector<ChargeResult> results;
  };
  std::uint64_t below(std::uint64_t n) { return questions_.below(n); }

  // The contents of a batch, computed in the simplest way.
  struct Contents {
    std::map<KeyHash, ParamsId> numbers;
    std::map<KeyHash, std::pair<std::int64_t, OnDenial>> last_single;
    std::size_t calls = 0, entries = 0, checks = 0;

    bool takes(const Asked& asked) const {
      if (calls == 0) return true;
      return calls < kRedisBatchChecksMax && entries + asked.charges.size() <= kRedisBatchEntriesMax &&
             std::ranges::all_of(
                 asked.charges,
                 [&](const Charge& charge) {
                   const auto known = numbers.find(charge.key);
                   return known == numbers.end() || known->second == charge.params;
                 });
    }
    void add(const Asked& asked) {
      ++calls;
      for (const Charge& charge : asked.charges) numbers[charge.key] = charge.params;
      if (asked.is_single) {
        const Charge& charge = asked.charges[0];
        const std::pair same{charge.cost, charge.on_denial};
        const auto [last, is_first] = last_single.try_emplace(charge.key, same);
        if (!is_first && last->second == same) return;
        last->second = same;
      } else {
        for (const Charge& charge : asked.charges) last_single.erase(charge.key);
      }
      ++checks;
      entries += asked.charges.size();
    }
  };

  // Fills the batch, from `waiting_` first.
  Contents fill(Batch& batch, std::vector<Asked>& asked) {
    Contents contents;
    for (std::uint64_t wanted = questions_.is_wide() || below(12) == 0 ? kRedisBatchChecksMax + 1
                                                                       : 1 + below(25);
         wanted > 0; --wanted) {
      Asked next = waiting_ ? std::exchange(waiting_, std::nullopt).value() : questions_.next();
      const bool takes = contents.takes(next);
      EXPECT_EQ(batch.add(*next.call, limits_), takes);
      if (!takes) {
        waiting_ = std::move(next);
        break;
      }
      contents.add(next);
      asked.push_back(std::move(next));
    }
    return contents;
  }

  // The order of arrival, except that singles on one counter follow the first of them, unless other calls on
  // it come in between.
  static void expect_order(const std::vector<Asked>& asked, const std::vector<std::size_t>& order) {
    std::vector<std::pair<std::size_t, std::size_t>> expected;  // the expected place, and the call
    std::map<KeyHash, std::size_t> first_single;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto& charges = asked[i].charges;
      expected.emplace_back(
          asked[i].is_single ? first_single.try_emplace(charges[0].key, i).first->second : i, i);
      for (const Charge& charge : charges)
        if (!asked[i].is_single) first_single.erase(charge.key);
    }
    std::ranges::sort(expected);
    for (std::size_t i = 0; i < asked.size(); ++i) ASSERT_EQ(order[i], expected[i].second) << i;
  }

  // First come, first decided, wherever that can matter.
  static void expect_order_on_each_counter(const std::vector<Asked>& asked,
                                           const std::vector<std::size_t>& order) {
    std::map<KeyHash, std::size_t> latest;
    for (const std::size_t i : order) {
      for (const Charge& charge : asked[i].charges) {
        const auto [last, is_first] = latest.try_emplace(charge.key, i);
        ASSERT_TRUE(is_first || last->second < i) << i << " after " << last->second;
        last->second = i;
      }
    }
  }

  // The answer of the slow and obvious store, with a list of request ids.
  Answer expected(const Asked& asked) {
    if (asked.dedupe) {
      const auto known = known_ids_.find(asked.dedupe->id);
      if (known != known_ids_.end() && time_.now_us() < known->second.expires_us) {
        Answer again = known->second.answer;
        if (known->second.fingerprint != asked.dedupe->fingerprint)
          return {.verdict = Verdict::kDenied, .conflict = true};
        again.replayed = true;
        if (again.results.size() != asked.charges.size()) again.results_known = 0;
        return again;
      }
    }
    Answer answer{.results = asked.told};
    answer.verdict = asked.refund_of_us != 0
                         ? naive_.refund(asked.charges, answer.results, asked.refund_of_us, answer.now_us)
                         : naive_.apply(asked.charges, answer.results, answer.now_us);
    answer.results_known = answer.results.size();
    const bool has_charged = std::ranges::any_of(asked.charges, [&](const Charge& each) {
      return each.cost > 0 && (answer.verdict == Verdict::kAllowed || each.on_denial == OnDenial::kCharge);
    });
    if (asked.dedupe && has_charged)
      known_ids_[asked.dedupe->id] = {asked.dedupe->fingerprint, answer,
                                      time_.now_us() + std::max<std::int64_t>(asked.dedupe->ttl_us, 1'000)};
    else if (!asked.dedupe && asked.refund_of_us == 0 && answer.verdict == Verdict::kAllowed &&
             (asked.charges.size() > 1 || below(8) == 0))
      questions_.remember({asked.charges, answer.results, answer.now_us});
    return answer;
  }
  static void expect_same(const TestCall& call, const Answer& answer) {
    ASSERT_EQ(call.verdict, answer.verdict);
    ASSERT_EQ(call.now_us, answer.now_us);
    ASSERT_EQ(call.replayed, answer.replayed);
    ASSERT_EQ(call.conflict, answer.conflict);
    ASSERT_EQ(call.results_known, answer.results_known);
    for (std::size_t i = 0; i < call.results_known; ++i)
      ASSERT_EQ(shown(call.results[i]), shown(answer.results[i])) << "charge " << i;
  }

  void pass_time() {
    time_.advance(static_cast<std::int64_t>(below(50) == 0 ? below(20 * kSecondUs) : below(200'000)));
    if (below(100) == 0) time_.advance(-static_cast<std::int64_t>(below(2 * kSecondUs)));
    questions_.begin_round();
  }

  std::string command_of(Batch& batch, bool heeds_moves) {
    std::string command;
    batch.append_command(command, "EVALSHA", "5ba1", "rl:", heeds_moves, time_.now_us());
    return command;
  }

  // The command that an unused batch makes of the same calls.
  std::string command_of_a_new_batch(const std::vector<Asked>& asked, bool heeds_moves) {
    Batch batch;
    LimitRecords limits(params_);
    for (const Asked& each : asked) EXPECT_TRUE(batch.add(*each.call, limits));
    return command_of(batch, heeds_moves);
  }

  static std::vector<std::size_t> order_of(const Batch& batch, const std::vector<Asked>& asked) {
    std::vector<StoreCall*> waiting;
    batch.append_waiting(waiting);
    std::vector<std::size_t> order;
    for (const StoreCall* call : waiting)
      order.push_back(static_cast<std::size_t>(
          std::ranges::find(asked, call,
                            [](const Asked& each) -> const StoreCall* { return each.call.get(); }) -
          asked.begin()));
    return order;
  }

  static std::string name_of(const KeyHash& hash, std::uint32_t slot_tag) {
    std::string name;
    append_key(name, "rl:", slot_tag, hash);
    return name;
  }
  static bool is_id(const Asked& asked, const std::string& name) {
    return asked.dedupe && name == name_of(asked.dedupe->id, asked.dedupe->slot_tag);
  }
  static std::vector<std::string> names_of(const Asked& asked) {
    std::vector<std::string> names;
    for (const Charge& charge : asked.charges) names.push_back(name_of(charge.key, charge.slot_tag));
    if (asked.dedupe) names.push_back(name_of(asked.dedupe->id, asked.dedupe->slot_tag));
    return names;
  }

  // Some calls reach their deadlines before the reply arrives.
  void let_some_go(Batch& batch, std::vector<Asked>& asked) {
    if (below(3) != 0) return;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (below(4) != 0) continue;
      batch.calls()[i] = nullptr;
      asked[i].call.reset();
    }
  }

  const std::uint64_t seed_ = test_seed();
  const testing::ScopedTrace trace_{__FILE__, __LINE__, "SLUICE_SEED=" + std::to_string(seed_)};
  ManualClock time_{1'800'000'000 * kSecondUs};
  ParamsTable params_;
  LimitRecords limits_{params_};
  ScriptModel script_;
  NaiveCounters naive_{time_, params_};
  struct KnownId {
    std::uint64_t fingerprint = 0;
    Answer answer;
    std::int64_t expires_us = 0;
  };
  std::map<KeyHash, KnownId> known_ids_;
  RandomQuestions questions_{params_, seed_};
  std::optional<Asked> waiting_;  // it did not fit into the last batch
};

TEST_F(BatchModelTest, EachCallIsToldWhatItWouldBeToldOnItsOwn) {
  Batch batch;  // used again and again
  std::size_t calls = 0, checks = 0;
  for (int round = 0; round < 800; ++round) {
    pass_time();
    batch.clear();
    std::vector<Asked> asked;
    const Contents contents = fill(batch, asked);
    const bool heeds_moves = below(2) == 0;
    const std::string command = command_of(batch, heeds_moves);
    ASSERT_EQ(command, command_of_a_new_batch(asked, heeds_moves)) << "it keeps nothing but its memory";
    const std::vector<std::size_t> order = order_of(batch, asked);
    ASSERT_NO_FATAL_FAILURE(expect_order_on_each_counter(asked, order));
    ASSERT_NO_FATAL_FAILURE(expect_order(asked, order));
    let_some_go(batch, asked);
    redis::RespParser reply;
    reply.feed(script_.answer(command));
    ASSERT_EQ(reply.next(), redis::RespParser::Status::kReply);
    ASSERT_TRUE(batch.read_reply(reply.reply(), limits_));
    ASSERT_EQ(script_.checks(), contents.checks) << "calls that ask for the same are one check";
    for (const std::size_t i : order) {
      SCOPED_TRACE("round " + std::to_string(round) + ", call " + std::to_string(i));
      const Answer answer = expected(asked[i]);
      if (asked[i].call) ASSERT_NO_FATAL_FAILURE(expect_same(*asked[i].call, answer));
    }
    ASSERT_EQ(batch.contradictions(), 0u);
    calls += contents.calls;
    checks += contents.checks;
  }
  EXPECT_LT(checks + 100, calls) << "many are put together";
}

TEST_F(BatchModelTest, EveryKeyIsNamedOnce) {
  Batch batch;
  for (int round = 0; round < 200; ++round) {
    batch.clear();
    std::vector<Asked> asked;
    fill(batch, asked);
    script_.answer(command_of(batch, below(2) == 0));
    std::set<std::string> counters, ids;
    for (const Asked& each : asked)
      for (const std::string& name : names_of(each)) (is_id(each, name) ? ids : counters).insert(name);
    ASSERT_EQ(script_.keys().size(), counters.size() + ids.size());
    ASSERT_EQ(batch.keys(), script_.keys().size());
    const auto middle = script_.keys().begin() + static_cast<std::ptrdiff_t>(counters.size());
    ASSERT_EQ(std::set(script_.keys().begin(), middle), counters);
    ASSERT_EQ(std::set(middle, script_.keys().end()), ids);
  }
}

// Calls of moving tenants are refused by the indexes of their keys; all others are sent again.
TEST_F(BatchModelTest, WhoWantsAKeyThatIsRefusedIsToldFromTheOthers) {
  Batch batch;
  for (int round = 0; round < 300; ++round) {
    batch.clear();
    std::vector<Asked> asked;
    fill(batch, asked);
    script_.answer(command_of(batch, true));
    std::set<std::string> refused_names;
    std::string numbers;
    for (std::size_t i = 0; i < script_.keys().size(); ++i) {
      if (below(6) != 0) continue;
      refused_names.insert(script_.keys()[i]);
      numbers += ' ' + std::to_string(i + 1);
    }
    const std::vector<std::size_t> order = order_of(batch, asked);
    let_some_go(batch, asked);
    std::vector<StoreCall*> refused, others, expected_refused, expected_others;
    batch.part_refused(numbers, refused, others);
    for (const std::size_t i : order) {
      const bool wants_one = std::ranges::any_of(
          names_of(asked[i]), [&](const std::string& name) { return refused_names.contains(name); });
      if (asked[i].call) (wants_one ? expected_refused : expected_others).push_back(asked[i].call.get());
    }
    ASSERT_EQ(refused, expected_refused);
    ASSERT_EQ(others, expected_others);
  }
}

}  // namespace
}  // namespace sluice

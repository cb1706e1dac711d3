#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/protocol/resp.h"
#include "store/redis/script/counter_view.h"
#include "store/redis/script/key_index.h"
#include "store/redis/script/limit_records.h"
#include "store/store.h"

namespace sluice {

// Several StoreCalls sent to Redis as one call of the script. Not thread-safe.
//
//   calls                                  in the batch
//   charge key A by 1                      keys A, B
//   charge key A by 1                      check 1: A by 1, twice
//   charge keys A and B by 2               check 2: A by 2 and B by 2
//   refund of a charge of A and C          check 3: a refund on A and C
//
// A key is in the batch once, however many calls use it. Equal calls become one check with a repeat count: a
// very busy key costs Redis little more than a quiet one. The script decides the checks in order, and the
// checks on one counter in the order of their calls, so the outcome is exactly that of the calls one by one.
//
// The batch copies what it needs of the calls: a call may be answered, and gone, before the reply arrives.
class Batch {
 public:
  // `merges`: equal calls become one check.
  explicit Batch(bool merges = true) : merges_(merges) {}

  // Adds a call, and of charges that are passed over only a look. False if it does not fit: the batch is
  // full, or one of its keys is in it under other numbers. An empty batch takes any call. REQUIRES: a key
  // comes with the same slot tag in all calls.
  bool add(StoreCall& call, LimitRecords& limits);

  // Prepares for reuse; keeps its memory.
  void clear();

  bool empty() const { return calls_.empty(); }
  std::size_t size() const { return calls_.size(); }
  // How many entries the script has to process; equal calls share theirs.
  std::size_t entries() const { return entries_.size(); }
  std::size_t keys() const { return counter_keys_.size() + id_keys_.size(); }

  // Appends the command: `EVALSHA sha …` or `EVAL script …`. `decide_at_us`: instead of the server's clock;
  // 0: don't. `heeds_moves`: tenants that are moving are refused, see redis/tenant_move/tenant_move.h.
  // `alone`: for when_full.lua, a denial writes nothing.
  void append_command(std::string& out, std::string_view command, std::string_view script,
                      std::string_view prefix, bool heeds_moves, std::int64_t decide_at_us,
                      bool alone = false);

  // Fills in the calls' answers from the reply. False if the reply does not match this batch: then the calls
  // are unchanged. REQUIRES: reply.size() >= 1
  bool read_reply(std::span<const redis::RespValue> reply, const LimitRecords& limits);

  // All calls in the order they came. Set a call's place to null once it is answered.
  std::span<StoreCall*> calls() { return calls_; }

  // The calls that still wait, in the order in which the script decides. REQUIRES: append_command() was
  // called.
  void append_waiting(std::vector<StoreCall*>& out) const;

  // The script has refused the whole batch because of some keys, whose indexes are in this text, and charged
  // nothing. Waiting calls go to `refused` if they use such a key, else to `others`.
  void part_refused(std::string_view key_numbers, std::vector<StoreCall*>& refused,
                    std::vector<StoreCall*>& others) const;

  // The same of the keys themselves, by index. The counters of the first call come first, in the order of its
  // charges, and the indexes begin with 1.
  std::vector<bool> refused_keys(std::string_view key_numbers) const;

  // f(key, slot_tag, params, view) for every counter, as it is after the reply. REQUIRES: the reply was read.
  template <typename Function>
  void for_each_counter(const Function& f) const {
    for (std::size_t i = 0; i < counters_.size(); ++i)
      f(counter_keys_.keys()[i], counters_[i].slot_tag, counters_[i].params, views_[i]);
  }
  // f(key, params, entries) for every sliding log: how many entries it had before. REQUIRES: the reply was
  // read.
  template <typename Function>
  void for_each_log(const Function& f) const {
    for (std::size_t i = 0; has_logs_ && i < counters_.size(); ++i)
      if (counters_[i].is_log) f(counter_keys_.keys()[i], counters_[i].params, counters_[i].log_entries);
  }
  // Whether the reply denied a check.
  bool has_denied() const { return has_denied_; }

  // f(key) for every counter that a refund may have given room.
  template <typename Function>
  void for_each_refunded(const Function& f) const {
    if (grants_.empty()) return;
    for (const Check& check : checks_)
      for (std::uint32_t i = 0; check.is_refund() && i < check.entries; ++i)
        f(entries_[check.first_entry + i].charge.key);
  }

  // How often the script admitted a charge for which we see no room, or the reverse. Always 0, unless one of
  // the two computes wrongly; the script's decision counts.
  std::uint64_t contradictions() const { return contradictions_; }

 private:
  static constexpr std::uint32_t kNone = KeyIndex::kNone;

  struct Counter {
    std::uint32_t slot_tag = 0;
    ParamsId params = 0;
    bool is_log = false;
    std::uint32_t log_entries = 0;      // after the reply: how many it had before
    std::uint32_t last_single = kNone;  // the last check of its row, if that is the latest on this counter
  };
  struct RequestId {
    Dedupe dedupe;
    std::uint32_t key = 0;  // in id_keys_
  };
  struct Entry {
    std::uint32_t counter = 0;
    std::uint16_t limit = 0;
    Charge charge;
  };
  // Its calls are a list in the order they came.
  struct Check {
    std::uint32_t first_entry = 0;
    std::uint8_t entries = 0;
    bool explain = false;
    bool single = false;
    bool is_lease = false;
    bool begins_row = false;  // a row: consecutive checks on one counter only, with no other check on it
    std::uint16_t repeats = 1;
    std::uint32_t request_id = kNone;   // in request_ids_
    std::uint32_t first_grant = kNone;  // in grants_; a refund has one for each of its entries
    std::uint32_t next_single = kNone;  // the next of the row
    std::uint32_t first_call = 0;
    std::uint32_t last_call = 0;

    bool is_refund() const { return first_grant != kNone; }
    bool has_record() const { return explain || request_id != kNone; }
  };

  bool fits(const StoreCall& call) const;
  bool join(std::uint32_t call, const Charge& charge);
  std::uint32_t counter_of(const Charge& charge);
  void add_check(const StoreCall& call, bool single, LimitRecords& limits);
  void add_grants(const StoreCall& call, Check& check);
  void arrange();
  unsigned kind_of(const Check& check) const;
  std::string encoded_checks(bool heeds_moves) const;
  bool is_reply(std::span<const redis::RespValue> reply) const;
  void read_check(const Check& check, std::int64_t verdict, std::string_view record, std::int64_t now_us,
                  const LimitRecords& limits);
  void replay(const Check& check, std::uint32_t call, bool admitted, std::int64_t now_us,
              const LimitRecords& limits);
  static void note_passed_over(StoreCall& call);
  void note_logs(const Check& check, std::int64_t now_us, const LimitRecords& limits);

  const bool merges_;
  std::vector<StoreCall*> calls_;
  std::vector<std::uint32_t> next_call_;  // of the same check; kNone: the last
  std::vector<Check> checks_;
  std::vector<std::uint32_t> order_;  // in which checks_ are sent
  std::vector<Entry> entries_;
  std::vector<Grant> grants_;
  KeyIndex counter_keys_;
  std::vector<Counter> counters_;  // of counter_keys_
  KeyIndex id_keys_;
  std::vector<std::uint32_t> id_slot_tags_;  // of id_keys_
  std::vector<RequestId> request_ids_;
  std::size_t records_ = 0;  // that the reply will have
  std::string limit_bytes_;
  std::vector<CounterView> views_;  // of counters_, while a reply is read
  std::uint64_t contradictions_ = 0;
  bool has_denied_ = false;
  bool has_logs_ = false;
};

}  // namespace sluice

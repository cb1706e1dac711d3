#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/params_table.h"

namespace sluice {

// The numbers of limits as the script wants them: a record of 39 bytes per limit, made once. Not thread-safe.
//
// A record carries a tag of seven bits that stands for its numbers. Values in Redis carry it, too, so that a
// script knows whether a counter was written under the numbers at hand, or under those the limit had before
// (`previous`, which then are in the call as well), and moves it. Where both have the same tag, 1 in 128,
// nobody can tell them apart: the state is kept as it is, and the step clamps it. As the tag follows from the
// numbers, all nodes agree on that.
// `on_change` is not among the numbers: a limit that changes only in that keeps its counters.
class LimitRecords {
 public:
  static constexpr std::size_t kBytes = 39;

  explicit LimitRecords(const ParamsTable& params) : params_(params) {}

  // A new call of the script begins: no limit is in it.
  void begin() { ++call_; }

  // The number of this limit in the current call, from 1 on. A limit that was not in it yet is appended to
  // `out`, and so are the numbers it had before (0: none, or not known).
  std::uint16_t number_of(ParamsId id, ParamsId previous, std::string& out);

  const LimitParams& params(ParamsId id) const { return params_[id]; }

  // REQUIRES: it was in some call.
  int tag(ParamsId id) const { return entries_[id].record[1]; }

 private:
  struct Number {
    std::uint64_t call = 0;  // in which it was given
    std::uint16_t number = 0;
    ParamsId previous = 0;
  };
  struct Entry {
    std::string record;
    Number plain;
    std::vector<Number> changed;  // with numbers it had before
  };

  Entry& entry(ParamsId id);

  const ParamsTable& params_;
  std::vector<Entry> entries_;  // by ParamsId
  std::uint64_t call_ = 0;
};

// The record itself, without previous numbers. Equal numbers have equal records, on every node and in every
// version.
std::string limit_record(const LimitParams& params);

}  // namespace sluice

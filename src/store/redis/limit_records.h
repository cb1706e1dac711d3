#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/params_table.h"

namespace sluice {

// The numbers of limits as the script wants them: a record of 39 bytes per limit, made once. Not thread-safe.
//
// A record carries a tag of seven bits that stands for its numbers. Values in Redis carry it, too, so that a
// script knows under which numbers a counter is kept: those at hand, or others that the limit is known to
// have (Relatives), which then are in the call as well, as a list that begins at `previous`. A tag that is
// not among them is understood on the safe side (algorithm/migrate.h). Where two of them have the same tag, 1
// in 128, nobody can tell them apart: the first in the list is taken for it. As the tag follows from the
// numbers, all nodes agree on that. `on_change` is not among the numbers: a limit that changes only in that
// keeps its counters.
class LimitRecords {
 public:
  static constexpr std::size_t kBytes = 39;

  explicit LimitRecords(const ParamsTable& params) : params_(params) {}

  // A new call of the script begins: no limit is in it.
  void begin() { ++call_; }

  // The number of this limit in the current call, from 1 on. A limit that was not in it yet is appended to
  // `out`, and so are its relatives.
  std::uint16_t number_of(ParamsId id, const Relatives& relatives, std::string& out);

  // What a value with this tag is kept under, if it is asked under `id`.
  struct KeptBy {
    const LimitParams* params = nullptr;  // null: not known
    OnChange change = OnChange::kKeep;    // how it comes to `id`
  };
  // REQUIRES: the limit was in some call, with these relatives.
  KeptBy kept_by(int tag, ParamsId id, const Relatives& relatives) const;

  const LimitParams& params(ParamsId id) const { return params_[id]; }

  // REQUIRES: it was in some call.
  int tag(ParamsId id) const { return entries_[id].record[1]; }

 private:
  struct Number {
    std::uint64_t call = 0;  // in which it was given
    std::uint16_t number = 0;
    Relatives relatives = {};
  };
  struct Entry {
    std::string record;
    Number plain;
    std::vector<Number> related;  // with relatives
  };

  Entry& entry(ParamsId id);
  std::uint16_t append(ParamsId id, bool former, std::uint16_t previous, std::string& out);
  std::uint16_t append_family(FamilyId id, std::string& out);

  const ParamsTable& params_;
  std::vector<Entry> entries_;    // by ParamsId
  std::vector<Number> families_;  // by FamilyId: where the list begins
  std::uint64_t call_ = 0;
};

// The record itself, without previous numbers. Equal numbers have equal records, on every node and in every
// version.
std::string limit_record(const LimitParams& params);

}  // namespace sluice

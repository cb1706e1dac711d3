#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/params_table.h"

namespace sluice {

// The numbers of limits as the script wants them: a record of 48 bytes per limit, made once. Not thread-safe.
class LimitRecords {
 public:
  static constexpr std::size_t kBytes = 48;

  explicit LimitRecords(const ParamsTable& params) : params_(params) {}

  // A new call of the script begins: no limit is in it.
  void begin() { ++call_; }

  // The number of this limit in the current call, from 1 on. A limit that was not in it yet is appended to
  // `out`.
  std::uint16_t number_of(ParamsId id, std::string& out);

  const LimitParams& params(ParamsId id) const { return params_[id]; }

  // With which bytes its counters begin (store/redis/stamp.h). REQUIRES: it was in some call.
  const std::string& stamp(ParamsId id) const { return entries_[id].stamp; }

 private:
  struct Entry {
    std::string record;
    std::string stamp;
    std::uint64_t call = 0;  // in which it has the number
    std::uint16_t number = 0;
  };

  const ParamsTable& params_;
  std::vector<Entry> entries_;  // by ParamsId
  std::uint64_t call_ = 0;
};

// The record itself.
std::string limit_record(const LimitParams& params);

}  // namespace sluice

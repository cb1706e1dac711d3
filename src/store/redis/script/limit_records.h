#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/params_table.h"

namespace sluice {

// The numbers of limits as the script reads them: a record of 48 bytes per limit, made once. Not thread-safe.
class LimitRecords {
 public:
  static constexpr std::size_t kBytes = 48;

  explicit LimitRecords(const ParamsTable& params) : params_(params) {}

  // Starts a new call of the script, which has no limits yet.
  void begin() { ++call_; }

  // The number of this limit in the current call, from 1. A limit that is new in this call is appended to
  // `out`.
  std::uint16_t number_of(ParamsId id, std::string& out);

  const LimitParams& params(ParamsId id) const { return params_[id]; }

  // The first bytes of its counters (store/redis/script/stamp.h). REQUIRES: the limit was in some call.
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

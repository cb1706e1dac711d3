#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "engine/request/check_request.h"

namespace sluice::loadgen {

// Which log to replay, and how its lines become checks; the same options as in `sluice plan`.
struct ReplayOptions {
  std::string file;               // empty: no replay; - is standard input
  std::string format = "auto";    // auto, common, combined, json or events
  std::string tenant;             // of all lines; empty: as the log says
  std::string tenant_from;        // the field with the tenant
  std::string key;                // the field that is the key; empty: the user or, without one, the address
  std::string cost;               // the field with the cost
  std::vector<std::string> maps;  // "dimension=field"
  double speed = 1;               // as a multiple of the log's pace; 0: as fast as possible
};

// The requests of a log in order, with their times. Immutable and thread-safe once filled.
//
//   const auto recording = Recording::read({.file = "access.log.gz"});
//   Recording::Room room;
//   engine.check(recording->request(0, room));
class Recording {
 public:
  static constexpr std::uint32_t kRequestsMax = 100'000'000;
  static constexpr std::size_t kBytesMax = std::size_t{2} << 30;  // of the texts; may be exceeded by one line

  // Reads a whole log. A line that is out of order is sent at the time of the latest line before it. The
  // error is a sentence.
  static std::expected<Recording, std::string> read(const ReplayOptions& options);

  // REQUIRES: at_us is not before that of the last one. False: there is no more room.
  bool add(std::int64_t at_us, const CheckRequest& request);

  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  // The time since the first request. REQUIRES: i < size().
  std::int64_t after_us(std::uint32_t i) const { return entries_[i].at_us - entries_[0].at_us; }

  using Room = std::array<Dimension, kDimensionsMax>;
  // REQUIRES: i < size(). The result points into the recording and the room.
  CheckRequest request(std::uint32_t i, Room& room) const;

 private:
  struct Entry {
    std::int64_t at_us;
    std::int64_t cost;  // -1: not given
    std::size_t begin;  // start of its texts
    std::uint32_t dimensions;
  };
  void append(std::string_view text);
  std::string_view take(std::size_t& at) const;

  std::vector<Entry> entries_;
  std::string
      texts_;  // each preceded by its length: policy, tenant, resource, key, request id, then dimensions
};

}  // namespace sluice::loadgen

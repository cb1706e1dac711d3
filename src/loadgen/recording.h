#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "engine/check_request.h"

namespace sluice::loadgen {

// Which log to replay, and how its lines become checks; as `sluice plan` has it.
struct ReplayOptions {
  std::string file;               // empty: nothing is replayed; - is standard input
  std::string format = "auto";    // auto, common, combined, json or events
  std::string tenant;             // of every line; empty: as the log says
  std::string tenant_from;        // the field that names it
  std::string key;                // the field that is the key; empty: the user or, without one, the address
  std::string cost;               // the field that holds the cost
  std::vector<std::string> maps;  // "dimension=field"
  double speed = 1;               // times the pace of the log; 0: as fast as can be
};

// The requests of a log in their order, with their times. Immutable once made, and thread-safe then.
//
//   const auto recording = Recording::read({.file = "access.log.gz"});
//   Recording::Room room;
//   limiter.check(recording->request(0, room));
class Recording {
 public:
  static constexpr std::uint32_t kRequestsMax = 100'000'000;
  static constexpr std::size_t kBytesMax = std::size_t{2} << 30;  // of their texts, a line more at most

  // Reads a whole log. What is not in the order of time is sent with the latest before it. The error is a
  // sentence.
  static std::expected<Recording, std::string> read(const ReplayOptions& options);

  // REQUIRES: at_us is not before that of the last one. False: there is no room for more.
  bool add(std::int64_t at_us, const CheckRequest& request);

  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  // How long after the first one it came. REQUIRES: i < size().
  std::int64_t after_us(std::uint32_t i) const { return entries_[i].at_us - entries_[0].at_us; }

  using Room = std::array<Dimension, kDimensionsMax>;
  // REQUIRES: i < size(). Points into the recording and the room.
  CheckRequest request(std::uint32_t i, Room& room) const;

 private:
  struct Entry {
    std::int64_t at_us;
    std::int64_t cost;  // -1: none was given
    std::size_t begin;  // of its texts
    std::uint32_t dimensions;
  };
  void append(std::string_view text);
  std::string_view take(std::size_t& at) const;

  std::vector<Entry> entries_;
  std::string texts_;  // each with its length before it: policy, tenant, resource, key, then dimensions
};

}  // namespace sluice::loadgen

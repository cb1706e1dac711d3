#pragma once

#include <cassert>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "algorithm/step.h"
#include "base/secret/hash.h"
#include "store/params_table.h"

namespace sluice {

// One counter in 32 bytes, two to a cache line: the hash of its name, and its state. Not thread-safe. All
// zero is an empty slot.
//
//   key_high, key_low   64 + 64 bits
//   word_[0]            params 22 | warned 1 | first 30 | second, low part 11
//   word_[1]            at 53 | second, high part 11     (buckets, fixed_window)
//                       at 45 | second, high part 19     (sliding_window: its `second` has 30 bits)
//                       address of the Log, owned by the slot's table   (sliding_log)
class Slot {
 public:
  Slot() = default;
  explicit Slot(const KeyHash& key) : key_high_(key.high), key_low_(key.low) {}

  bool empty() const { return params_id() == 0; }
  KeyHash key() const { return {key_high_, key_low_}; }
  std::uint64_t key_high() const { return key_high_; }
  ParamsId params_id() const { return static_cast<ParamsId>(word_[0] & kParamsMask); }
  bool warned() const { return (word_[0] >> kParamsBits & 1) != 0; }
  void set_warned(bool warned) {
    word_[0] = (word_[0] & ~(std::uint64_t{1} << kParamsBits)) | std::uint64_t{warned} << kParamsBits;
  }

  // REQUIRES: `algorithm` is that of the slot's params, and not the sliding log.
  State state(Algorithm algorithm) const {
    assert(algorithm != Algorithm::kSlidingLog);
    const unsigned at_bits = bits_of_at(algorithm);
    State state;
    state.at = static_cast<std::int64_t>(word_[1] & mask(at_bits));
    state.first = static_cast<std::int64_t>(word_[0] >> kFirstShift & mask(kFirstBits));
    state.second =
        static_cast<std::int64_t>(word_[0] >> kSecondShift | word_[1] >> at_bits << kSecondLowBits);
    return state;
  }

  // REQUIRES: params != 0; every part of the state fits into its bits.
  void set_state(ParamsId params, Algorithm algorithm, const State& state, bool warned) {
    const unsigned at_bits = bits_of_at(algorithm);
    assert(params != 0 && params <= kParamsMask && algorithm != Algorithm::kSlidingLog);
    assert(state.at >= 0 && static_cast<std::uint64_t>(state.at) <= mask(at_bits));
    assert(state.first >= 0 && static_cast<std::uint64_t>(state.first) <= mask(kFirstBits));
    assert(state.second >= 0 &&
           static_cast<std::uint64_t>(state.second) <= mask(64 - at_bits + kSecondLowBits));
    const auto first = static_cast<std::uint64_t>(state.first),
               second = static_cast<std::uint64_t>(state.second);
    word_[0] = params | std::uint64_t{warned} << kParamsBits | first << kFirstShift | second << kSecondShift;
    word_[1] = static_cast<std::uint64_t>(state.at) | second >> kSecondLowBits << at_bits;
  }

  // REQUIRES: the slot's params are those of a sliding log.
  Log* log() const { return reinterpret_cast<Log*>(word_[1]); }
  void set_log(ParamsId params, Log* log, bool warned) {
    assert(params != 0 && params <= kParamsMask);
    word_[0] = params | std::uint64_t{warned} << kParamsBits;
    word_[1] = reinterpret_cast<std::uint64_t>(log);
  }

 private:
  static constexpr unsigned kParamsBits = 22, kFirstBits = 30, kSecondLowBits = 11;
  static constexpr unsigned kFirstShift = kParamsBits + 1, kSecondShift = kFirstShift + kFirstBits;
  static constexpr std::uint64_t mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }
  static constexpr std::uint64_t kParamsMask = (1u << kParamsBits) - 1;
  static constexpr unsigned bits_of_at(Algorithm algorithm) {
    switch (family_of(algorithm)) {
      case Family::kSlidingWindow:  // it needs all bits of `second`
        return 45;
      case Family::kBucket:
      case Family::kFixedWindow:
      case Family::kSlidingLog:
        return 53;
    }
    std::unreachable();
  }

  std::uint64_t key_high_ = 0;
  std::uint64_t key_low_ = 0;
  std::uint64_t word_[2] = {0, 0};
};
static_assert(sizeof(Slot) == 32 && std::is_trivially_copyable_v<Slot>);

}  // namespace sluice

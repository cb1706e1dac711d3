#include "store/redis/script/stamp.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/limits.h"
#include "store/redis/script/wire.h"

namespace sluice {
namespace {

// The least value of the first byte for each kind.
constexpr int kShortBucket = 128, kLogKind = 96, kFull = 64, kShortWindow = 16;
constexpr int kHasScale = 8;  // added to kFull

constexpr std::size_t kFullBytes = 15, kLogBytes = 15;
constexpr std::int64_t kWarned = std::int64_t{1} << 55;  // added to `at`
constexpr std::int64_t kShortDenominatorMax = 256;       // a fraction is one byte

constexpr std::array<std::int64_t, 16> kShortPeriodsMs = {
    1,       100,     1'000,   5'000,     10'000,    15'000,     30'000,      60'000,
    300'000, 600'000, 900'000, 1'800'000, 3'600'000, 86'400'000, 604'800'000, 2'592'000'000};

// The algorithms by their numbers in stamps. Stamps outlive programs: a number never changes its meaning.
constexpr std::array kNumbered = {Algorithm::kGcra,        Algorithm::kTokenBucket,   Algorithm::kLeakyBucket,
                                  Algorithm::kFixedWindow, Algorithm::kSlidingWindow, Algorithm::kSlidingLog};

template <Algorithm kOne>
constexpr unsigned number_in_list() {
  constexpr auto kFound = std::ranges::find(kNumbered, kOne);
  static_assert(kFound != kNumbered.end(), "an algorithm without a number cannot be stored");
  return static_cast<unsigned>(kFound - kNumbered.begin());
}

constexpr unsigned number_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kGcra:
      return number_in_list<Algorithm::kGcra>();
    case Algorithm::kTokenBucket:
      return number_in_list<Algorithm::kTokenBucket>();
    case Algorithm::kLeakyBucket:
      return number_in_list<Algorithm::kLeakyBucket>();
    case Algorithm::kFixedWindow:
      return number_in_list<Algorithm::kFixedWindow>();
    case Algorithm::kSlidingWindow:
      return number_in_list<Algorithm::kSlidingWindow>();
    case Algorithm::kSlidingLog:
      return number_in_list<Algorithm::kSlidingLog>();
  }
  std::unreachable();
}

// A short stamp has two bits for a bucket's algorithm, and two ranges of values for windows. A full one has
// three bits.
constexpr auto count_of(Family family) { return std::ranges::count(kNumbered, family, family_of); }
static_assert(std::ranges::all_of(kNumbered, [](Algorithm each) {
  return family_of(each) != Family::kBucket || number_of(each) < 4;
}));
static_assert(count_of(Family::kFixedWindow) == 1 && count_of(Family::kSlidingWindow) == 1 &&
              count_of(Family::kSlidingLog) == 1);
static_assert(kNumbered.size() <= kHasScale);

// How a counter is stored.
enum class Form : std::uint8_t { kBucket, kWindow, kLog };

Form form_of(const LimitParams& p) {
  switch (p.family()) {
    case Family::kBucket:
      return Form::kBucket;
    case Family::kFixedWindow:
    case Family::kSlidingWindow:
      return Form::kWindow;
    case Family::kSlidingLog:
      return Form::kLog;
  }
  std::unreachable();
}
bool is_log(const LimitParams& p) { return form_of(p) == Form::kLog; }
bool is_window(const LimitParams& p) { return form_of(p) == Form::kWindow; }

// Numbers up to 1023, followed by up to three zeros: 10 bits and 2.
std::optional<unsigned> rounded_bits(std::int64_t number) {
  unsigned zeros = 0;
  while (number > 1023 && number % 10 == 0 && zeros < 3) {
    number /= 10;
    ++zeros;
  }
  if (number > 1023) return std::nullopt;
  return static_cast<unsigned>(number) << 2 | zeros;
}

std::int64_t rounded_number(std::int64_t bits) {
  constexpr std::array<std::int64_t, 4> kPowers = {1, 10, 100, 1000};
  return (bits >> 2) * kPowers[static_cast<std::size_t>(bits & 3)];
}

// Form and numbers of a bucket's short stamp: 1 + 24 bits.
std::optional<unsigned> bucket_bits(const LimitParams& p) {
  if (p.rate.count == p.capacity && p.capacity < 1 << 24) return static_cast<unsigned>(p.capacity);
  const auto count = rounded_bits(p.rate.count), capacity = rounded_bits(p.capacity);
  if (!count || !capacity) return std::nullopt;
  return 1u << 24 | *count << 12 | *capacity;
}

// Without the derived fields; the algorithm is not that of a log.
LimitParams unchecked(Algorithm algorithm, std::int64_t count, std::int64_t period_us, std::int64_t capacity,
                      std::int64_t scale) {
  return {.algorithm = algorithm, .rate = {count, period_us}, .capacity = capacity, .scale = scale};
}

// Two bits of the first byte are the algorithm.
Algorithm short_algorithm(int kind) { return kNumbered[static_cast<std::size_t>(kind >> 5 & 3)]; }

LimitParams read_short_bucket(std::string_view value) {
  const std::int64_t bits = number_at(value, 0, 4);
  const std::int64_t numbers = bits & 0xff'ffff;
  const Algorithm algorithm = short_algorithm(static_cast<int>(bits >> 24));
  const std::int64_t period_us = kShortPeriodsMs[static_cast<std::size_t>(bits >> 25 & 15)] * 1000;
  if ((bits >> 24 & 1) == 0) return unchecked(algorithm, numbers, period_us, numbers, 0);
  return unchecked(algorithm, rounded_number(numbers >> 12), period_us, rounded_number(numbers & 0xfff), 0);
}

struct Said {
  LimitParams numbers;
  std::size_t bytes = 0;  // of the stamp
};

std::optional<Said> read_full(std::string_view value, int kind) {
  const bool has_scale = (kind & kHasScale) != 0;
  const auto number = static_cast<std::size_t>(kind % kHasScale);
  const std::size_t bytes = kFullBytes + (has_scale ? 4 : 0);
  if (kind >= kFull + 16 || number >= kNumbered.size() || value.size() < bytes) return std::nullopt;
  const Algorithm algorithm = kNumbered[number];
  if (family_of(algorithm) == Family::kSlidingLog) return std::nullopt;  // has stamps of its own
  return Said{unchecked(algorithm, number_at(value, 1, 4), number_at(value, 5, 6), number_at(value, 11, 4),
                        has_scale ? number_at(value, 15, 4) : 0),
              bytes};
}

std::optional<Said> read_numbers(std::string_view value) {
  if (value.empty()) return std::nullopt;
  const auto kind = static_cast<int>(number_at(value, 0, 1));
  if (kind >= kShortBucket) {
    if (value.size() < 4 || family_of(short_algorithm(kind)) != Family::kBucket) return std::nullopt;
    return Said{read_short_bucket(value), 4};
  }
  if (kind >= kLogKind) {
    if (kind > kLogKind + 1 || value.size() < kLogBytes) return std::nullopt;
    const std::int64_t count = number_at(value, 1, 4);
    return Said{
        unchecked(Algorithm::kSlidingLog, count, number_at(value, 5, 6), count, number_at(value, 11, 4)),
        kLogBytes};
  }
  if (kind >= kFull) return read_full(value, kind);
  if (kind < kShortWindow || kind >= 3 * kShortWindow) return std::nullopt;
  const std::int64_t period_us = kShortPeriodsMs[static_cast<std::size_t>(kind % 16)] * 1000;
  const Algorithm algorithm = kind < 2 * kShortWindow ? Algorithm::kFixedWindow : Algorithm::kSlidingWindow;
  return Said{unchecked(algorithm, 1, period_us, 1, 0), 1};
}

// The numbers in the form that the steps want; nothing when no limit can have them.
std::optional<LimitParams> checked(const LimitParams& said) {
  const bool in_range = said.rate.count > 0 && said.capacity > 0 && said.scale <= kRateMax &&
                        (!is_window(said) || (said.rate.count == 1 && said.capacity == 1)) &&
                        (!is_log(said) || said.scale <= kSlidingLogMax);
  if (!in_range) return std::nullopt;
  auto made = make_limit_params(said.algorithm, said.rate,
                                said.is_bucket() ? std::optional(said.capacity) : std::nullopt);
  if (!made) return std::nullopt;
  made->scale = said.scale;
  return *made;
}

std::optional<Log> read_log(std::string_view value) {
  if ((value.size() - kLogBytes) % kLogEntryBytes != 0) return std::nullopt;
  Log log;
  for (std::size_t at = kLogBytes; at < value.size(); at += kLogEntryBytes)
    log.push_back({number_at(value, at, 7), number_at(value, at + 7, 4)});
  return log;
}

}  // namespace

std::string short_stamp(const LimitParams& p) {
  const auto* const period = std::ranges::find(kShortPeriodsMs, p.rate.period_us / 1000);
  if (p.rate.period_us % 1000 != 0 || period == kShortPeriodsMs.end() || p.capacity == 0 || p.scale > 0 ||
      is_log(p))
    return {};
  const auto index = static_cast<unsigned>(period - kShortPeriodsMs.begin());
  std::string stamp;
  if (is_window(p)) {
    append_number(stamp, (p.family() == Family::kFixedWindow ? 1 : 2) * kShortWindow + index, 1);
    return stamp;
  }
  const auto numbers = bucket_bits(p);
  if (p.denominator > kShortDenominatorMax || !numbers) return {};
  append_number(stamp, 1u << 31 | number_of(p.algorithm) << 29 | index << 25 | *numbers, 4);
  return stamp;
}

std::string stamp_of(const LimitParams& p) {
  if (std::string stamp = short_stamp(p); !stamp.empty()) return stamp;
  std::string stamp;
  const auto append = [&](std::int64_t number, int bytes) {
    append_number(stamp, static_cast<std::uint64_t>(number), bytes);
  };
  const auto algorithm = static_cast<int>(number_of(p.algorithm));
  const bool any_capacity = is_window(p) && p.capacity > 0;
  append(is_log(p) ? kLogKind : kFull + (p.scale > 0 ? kHasScale : 0) + algorithm, 1);
  append(any_capacity ? 1 : p.rate.count, 4);
  append(p.rate.period_us, 6);
  if (!is_log(p)) append(any_capacity ? 1 : p.capacity, 4);
  if (is_log(p) || p.scale > 0) append(p.scale, 4);
  return stamp;
}

std::optional<CounterState> read_state(std::string_view value, std::string_view stamp) {
  if (!value.starts_with(stamp)) return std::nullopt;
  const bool short_fraction = static_cast<unsigned char>(stamp[0]) >= kShortBucket;
  const std::size_t at = stamp.size(), first = at + 7, second = first + (short_fraction ? 1 : 4);
  if (value.size() != second && value.size() != second + 4) return std::nullopt;
  CounterState read{.state = {number_at(value, at, 7), number_at(value, first, second - first), 0}};
  if (value.size() > second) read.state.second = number_at(value, second, 4);
  read.warned = read.state.at >= kWarned;
  if (read.warned) read.state.at -= kWarned;
  return read;
}

std::optional<StampedCounter> read_counter(std::string_view value) {
  const auto said = read_numbers(value);
  if (!said) return std::nullopt;
  auto numbers = checked(said->numbers);
  if (!numbers) return std::nullopt;
  StampedCounter counter{.stamp = value.substr(0, said->bytes), .numbers = *numbers};
  if (is_log(*numbers)) {
    auto log = read_log(value);
    if (!log) return std::nullopt;
    counter.kept.log = *std::move(log);
    counter.warned = number_at(value, 0, 1) > kLogKind;
    return counter;
  }
  const auto read = read_state(value, counter.stamp);
  if (!read) return std::nullopt;
  counter.kept.state = read->state;
  counter.warned = read->warned;
  return counter;
}

}  // namespace sluice

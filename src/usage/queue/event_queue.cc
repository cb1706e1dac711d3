#include "usage/queue/event_queue.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace sluice::usage {
namespace {

constexpr std::size_t kAlignment = 8;
constexpr std::size_t kRingBytesMin = 64u << 10;

enum Text : std::uint8_t { kTenant, kPolicy, kResource, kKey, kRequestId, kTexts };

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

// Most texts are short: two overlapping words are cheaper than a call. Texts of up to a word are rare.
char* put(char* at, std::string_view text) {
  const std::size_t size = text.size();
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (size >= kWord && size <= 2 * kWord) [[likely]] {
    std::uint64_t first = 0, last = 0;
    std::memcpy(&first, text.data(), kWord);
    std::memcpy(&last, text.data() + size - kWord, kWord);
    std::memcpy(at, &first, kWord);
    std::memcpy(at + size - kWord, &last, kWord);
  } else if (size > 0) {
    std::memcpy(at, text.data(), size);
  }
  return at + size;
}

std::string_view take(const char*& at, std::size_t bytes) {
  const std::string_view text(at, bytes);
  at += bytes;
  return text;
}

}  // namespace

// How an event begins in the ring. The texts follow: first the five, then those of the dimensions, each of
// which begins with its two lengths.
struct EventQueue::Head {
  std::uint32_t bytes;  // of all of it
  bool is_gap;          // nothing: the event after it begins at the ring's beginning
  Kind kind;
  bool allowed, degraded;
  std::uint64_t number;
  std::int64_t at_us, cost, policy_version;
  std::uint16_t sizes[kTexts];
  bool replayed;
  std::uint8_t dimensions;
};
struct DimensionSizes {
  std::uint16_t name, value;
};

// A gap is at least as long as an alignment, and its reader looks at these two only.
constexpr std::size_t kGapBytes = 8;

EventQueue::EventQueue(std::size_t bytes)
    : mask_(bytes - 1), ring_(std::make_unique_for_overwrite<char[]>(bytes)) {
  static_assert(sizeof(Head) % kAlignment == 0 && kGapBytes <= kAlignment);
  assert(std::has_single_bit(bytes) && bytes >= kRingBytesMin);
}

// Room for so many bytes in one piece; null: there is none.
char* EventQueue::reserve(std::size_t bytes) {
  const std::size_t to_end = mask_ + 1 - (write_ & mask_);
  const std::size_t gap = to_end < bytes ? to_end : 0;
  if (write_ + gap + bytes - known_freed_ > mask_ + 1) [[unlikely]] {
    known_freed_ = freed_.load(std::memory_order_acquire);
    if (write_ + gap + bytes - known_freed_ > mask_ + 1) return nullptr;
  }
  if (gap > 0) [[unlikely]] {
    const Head head{.bytes = static_cast<std::uint32_t>(gap), .is_gap = true};
    std::memcpy(&ring_[write_ & mask_], &head, kGapBytes);
    write_ += gap;
  }
  return &ring_[write_ & mask_];
}

bool EventQueue::push(const UsageEvent& event) {
  std::size_t bytes = sizeof(Head) + event.tenant.size() + event.policy.size() + event.resource.size() +
                      event.key.size() + event.request_id.size();
  for (const Dimension& dimension : event.dimensions)
    bytes += sizeof(DimensionSizes) + dimension.name.size() + dimension.value.size();
  bytes = aligned(bytes);

  const std::uint64_t number = next_number_++;
  char* const begin = reserve(bytes);
  if (!begin) [[unlikely]] {
    dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return false;
  }
  const auto size = [](std::string_view text) { return static_cast<std::uint16_t>(text.size()); };
  const Head head{.bytes = static_cast<std::uint32_t>(bytes),
                  .is_gap = false,
                  .kind = event.kind,
                  .allowed = event.allowed,
                  .degraded = event.degraded,
                  .number = number,
                  .at_us = event.at_us,
                  .cost = event.cost,
                  .policy_version = event.policy_version,
                  .sizes = {size(event.tenant), size(event.policy), size(event.resource), size(event.key),
                            size(event.request_id)},
                  .replayed = event.replayed,
                  .dimensions = static_cast<std::uint8_t>(event.dimensions.size())};
  std::memcpy(begin, &head, sizeof(Head));
  char* at = begin + sizeof(Head);
  at = put(at, event.tenant);
  at = put(at, event.policy);
  at = put(at, event.resource);
  at = put(at, event.key);
  at = put(at, event.request_id);
  for (const Dimension& dimension : event.dimensions) {
    const DimensionSizes sizes{size(dimension.name), size(dimension.value)};
    std::memcpy(at, &sizes, sizeof(sizes));
    at = put(at + sizeof(sizes), dimension.name);
    at = put(at, dimension.value);
  }
  write_ += bytes;
  written_.store(write_, std::memory_order_release);
  return true;
}

bool EventQueue::pop(QueuedEvent& out) {
  const std::uint64_t written = written_.load(std::memory_order_acquire);
  if (read_ == written) return false;
  Head head{};
  std::memcpy(&head, &ring_[read_ & mask_], kGapBytes);
  if (head.is_gap) read_ += head.bytes;  // an event follows, for they are written together
  const char* at = &ring_[read_ & mask_];
  std::memcpy(&head, at, sizeof(Head));
  read_ += head.bytes;

  at += sizeof(Head);
  out.number = head.number;
  UsageEvent& event = out.event;
  event.kind = head.kind;
  event.allowed = head.allowed;
  event.degraded = head.degraded;
  event.replayed = head.replayed;
  event.at_us = head.at_us;
  event.cost = head.cost;
  event.policy_version = head.policy_version;
  event.tenant = take(at, head.sizes[kTenant]);
  event.policy = take(at, head.sizes[kPolicy]);
  event.resource = take(at, head.sizes[kResource]);
  event.key = take(at, head.sizes[kKey]);
  event.request_id = take(at, head.sizes[kRequestId]);
  for (std::size_t i = 0; i < head.dimensions; ++i) {
    DimensionSizes sizes{};
    std::memcpy(&sizes, at, sizeof(sizes));
    at += sizeof(sizes);
    out.dimensions[i].name = take(at, sizes.name);
    out.dimensions[i].value = take(at, sizes.value);
  }
  event.dimensions = {out.dimensions.data(), head.dimensions};
  return true;
}

}  // namespace sluice::usage

#pragma once

#include <cstddef>
#include <cstdint>

// Usage events: how many wait, and for how long.
namespace sluice {

// Of one loop, until the sender thread takes them. It does so at least every kUsageLookUs, so that this is
// room for several times what a loop can decide in the meantime.
inline constexpr std::size_t kUsageRingBytes = 4u << 20;
inline constexpr int kUsageLookMs = 20;

// A batch is sent when it has so many events or bytes, or when its first event has waited so long.
inline constexpr std::size_t kUsageBatchMax = 100;
inline constexpr std::size_t kUsageBatchBytesMax = 256u << 10;
inline constexpr std::int64_t kUsageBatchWaitUs = 100'000;

// Batches that were handed to the server and are not acknowledged yet.
inline constexpr std::size_t kUsageBatchesInHandMax = 8;

// What one look takes from the loops at most, so that the server's answers are read in between.
inline constexpr std::size_t kUsageEventsAtOnceMax = 4'096;

inline constexpr int kUsageQueueMiB =
    32;  // --usage-queue-mib: of the node, for events that wait for the server
inline constexpr int kUsageQueueMiBMax = 65'536;

inline constexpr std::size_t kUsageUrlBytesMax = 8'192;
inline constexpr std::size_t kUsageTopicBytesMax = 249;        // what Kafka allows
inline constexpr std::size_t kUsageStreamBytesMax = 1'024;     // the name of a stream in Redis
inline constexpr std::int64_t kUsageStreamLength = 1'000'000;  // entries, unless the URL says otherwise
inline constexpr std::int64_t kUsageStreamLengthMax = 1'000'000'000;

}  // namespace sluice

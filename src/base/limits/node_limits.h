#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time_units.h"

// The exchange between nodes that share a Redis; see server/nodes/node_exchange.h.
namespace sluice {

inline constexpr std::size_t kNodesSeenMax = 128;              // that can share a Redis and see each other
inline constexpr std::size_t kNodeReportBytesMax = 12u << 10;  // what a node reports about itself
inline constexpr std::size_t kNodeNameBytesMax = 128;
inline constexpr std::size_t kNodePoliciesMax = 100;         // the busiest ones, in a report
inline constexpr std::size_t kNodeProblemsMax = 8;           // in a report …
inline constexpr std::size_t kNodeProblemBytesMax = 300;     // … of so many bytes each
inline constexpr std::int64_t kNodeBeatUs = kSecondUs;       // between two reports
inline constexpr std::int64_t kNodeLifeUs = 10 * kSecondUs;  // after its last report a node is gone

inline constexpr std::size_t kNodeQuestionsMax = 16;         // open at a time, of all nodes
inline constexpr std::size_t kNodeQuestionsOwnMax = 4;       // of one node
inline constexpr std::size_t kNodeQuestionsWaitingMax = 64;  // in a node, for these
inline constexpr std::size_t kNodeQuestionBytesMax = 4u << 10;
inline constexpr std::size_t kNodeAnswerBytesMax = 32u << 10;
inline constexpr std::int64_t kNodePatienceUs = 2'500'000;  // with which a question is asked

}  // namespace sluice

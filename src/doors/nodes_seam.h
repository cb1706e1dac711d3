#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "telemetry/node_report.h"

namespace sluice::doors {

// A node, as this one knows it.
struct NodeSeen {
  NodeReport report;
  std::int64_t seen_us = 0;  // by the wall clock: when it reported
  bool is_self = false;
};

struct NodesSeen {
  std::vector<NodeSeen> nodes;  // this one first, the others by name
  std::string problem;          // why others may be missing, a sentence; empty: none are
};

struct NodeAnswer {
  std::string node;  // the name of the node that answers
  std::string body;
};

struct NodeAnswers {
  std::vector<NodeAnswer> answers;  // this node's first
  std::vector<std::string> silent;  // names of nodes that did not answer in time
  std::string problem;              // as in NodesSeen
};

// Interface of the exchange between the nodes that share a Redis, for the doors: it lies in a layer above
// them. With counters in memory there is only this node. One per loop, on its thread.
//
//   if (!context.nodes->ask("decisions", to_text(wanted), [later = reply.later()](NodeAnswers&& all) {
//         net::HttpResponse response; … later(std::move(response));
//       }))
//     return std::unexpected(NodesSeam::busy());
//
// Whoever asks has made sure that the caller may know the answer: other nodes do not ask again.
class NodesSeam {
 public:
  virtual ~NodesSeam() = default;

  // Calls `then` later on this thread, within about three seconds, with what is known by then. False: too
  // many questions are waiting, and `then` is never called.
  virtual bool look(std::function<void(NodesSeen&&)> then) = 0;
  // The same with the answers of all nodes, this one's included, to a question on a topic that the nodes have
  // handlers for. `body` has at most kNodeQuestionBytesMax bytes, an answer at most kNodeAnswerBytesMax.
  virtual bool ask(std::string topic, std::string body, std::function<void(NodeAnswers&&)> then) = 0;

  virtual void tick() = 0;  // delivers what has arrived

  // The error for a question that was not taken.
  static Error busy() {
    return {ErrorCode::kOverloaded, "too many questions to other nodes are waiting; try again in a moment",
            ""};
  }
};

}  // namespace sluice::doors

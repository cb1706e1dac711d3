#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret/sealed_message.h"
#include "base/secret/secret_ring.h"
#include "telemetry/node_report.h"

// What nodes write into Redis for each other, under these keys:
//
//   rl:{nodes}:0 … 127       a place: the report of the node that has it, for ten seconds
//   rl:{nodes}:ask:0 … 15    a question, for five seconds
//   rl:{nodes}:say:3:17      the answer to question 3 of the node at place 17, for five seconds
//
// There are never more keys than that, whatever nodes do, and each ends by itself. They have one hash tag, so
// that a Cluster keeps them in one slot. A value is: the id of the node that wrote it, for a question also
// the id of the question, then a sealed message.
namespace sluice::server {

inline constexpr std::size_t kNodeIdBytes = 16;

std::string place_key(std::string_view prefix, std::size_t place);
std::string question_key(std::string_view prefix, std::size_t number);
std::string answer_key(std::string_view prefix, std::size_t number, std::size_t place);

// The keys that messages are sealed with: from --key-secrets, else from --key-secret, else from a text that
// everyone knows. Thread-safe.
class NodeKeys {
 public:
  // `secrets`: null for none; outlives this object.
  NodeKeys(std::string_view secret, const SecretRing* secrets);
  MessageKey newest() const;
  // Of every version of the secrets, the newest first.
  std::vector<MessageKey> all() const;

 private:
  const MessageKey fixed_;
  const SecretRing* const secrets_;
};

// A report, as it is stored at a place.
struct PlacedReport {
  NodeReport report;
  std::int64_t at_ms = 0;  // by the server's clock
};
std::string write_report(const NodeKeys& keys, const PlacedReport& placed);
// The id of the node that wrote the value; empty: no node did.
std::string_view writer_of(std::string_view value);
std::optional<PlacedReport> read_report(const NodeKeys& keys, std::string_view value);

struct NodeQuestion {
  std::string id;             // kNodeIdBytes
  std::string asker;          // the node's id
  std::int64_t until_ms = 0;  // by the server's clock
  std::string topic, body;
};
std::string write_question(const NodeKeys& keys, const NodeQuestion& question);
std::optional<NodeQuestion> read_question(const NodeKeys& keys, std::string_view value);

// An answer belongs to the id of its question, so that nobody can repeat that of another.
struct NodeReply {
  std::string node;  // its id
  std::string name, body;
};
std::string write_reply(const NodeKeys& keys, std::string_view question, const NodeReply& reply);
std::optional<NodeReply> read_reply(const NodeKeys& keys, std::string_view question, std::string_view value);

}  // namespace sluice::server

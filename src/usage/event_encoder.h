#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/secret/pseudonyms.h"
#include "base/secret/secret_ring.h"
#include "usage/queue/event_queue.h"

namespace sluice::usage {

// Writes events as JSON, as docs/usage-events.md describes them. Not thread-safe.
//
//   {"event_id":"9f3c2a71b04d5e68-0-42","kind":"check","ts":1791666936250,"tenant":"search-service","policy":"api.read",
//    "policy_version":3,"resource":"/search","key":"alice","cost":1,"allowed":true,"request_id":"r-17"}
//
// With secrets, whoever is counted is called by a name that does not reveal who it is
// (base/secret/pseudonyms.h): the key and all dimensions but tenant, resource, route and tier. Texts that are
// not UTF-8 are repaired, since JSON is.
class EventEncoder {
 public:
  // `node`: what the ids of all events begin with; no other node or run has the same. `secrets`: null: values
  // are shown as they are.
  EventEncoder(std::string node, const SecretRing* secrets) : node_(std::move(node)), secrets_(secrets) {}

  // `queue`: which of the node's queues the event comes from. Times and secrets are those of the event.
  void append(std::string& out, const QueuedEvent& event, std::size_t queue);
  // What says which events must stay in order: the tenant and the key.
  void append_key(std::string& out, const QueuedEvent& event);

 private:
  void append_text(std::string& out, std::string_view name, std::string_view text);
  void append_who(std::string& out, std::string_view name, std::string_view text);
  void append_dimensions(std::string& out, const UsageEvent& event);
  void follow_secrets(std::int64_t at_us);
  // The text, or what it is called.
  std::string_view name_of(std::string_view who);

  const std::string node_;
  const SecretRing* const secrets_;
  // Of the day and the secret of the latest event.
  std::optional<Pseudonyms> pseudonyms_;
  std::int64_t day_ = -1;
  int secret_version_ = 0;
  std::string scratch_;
};

}  // namespace sluice::usage

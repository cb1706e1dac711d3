#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// What the ledger holds. Plain values.
namespace sluice::ledger {

// What a record is about. The texts are part of the database: they never change.
enum class Kind : std::uint8_t {
  kPolicy,     // "policy": the document of one policy
  kUser,       // "user": a user's tier and overrides
  kToken,      // "token": a hashed token and what it may do
  kRollout,    // "rollout": a candidate version of a policy and its progress
  kSwitch,     // "switch": the big red switch
  kEvent,      // "event": an action without a document, such as the reset of a counter
  kRetention,  // "retention": which old records were removed; see anchor.h
};
std::string_view to_string(Kind kind);
std::optional<Kind> kind_from(std::string_view text);

// One item to be written: the next version of a named document, or an event.
struct Draft {
  Kind kind = Kind::kPolicy;
  std::string name;    // policy id, user id, …; for an event: its object
  std::string action;  // "create", "update", "delete", "rollback", "reset", …
  std::string body;    // JSON; empty: the document is withdrawn
  // The version that the author has seen; 0: none (or withdrawn). Absent: any. Ignored for events.
  std::optional<std::int64_t> expected_version;
};

// Drafts that are written together or not at all.
struct Change {
  std::vector<Draft> drafts;  // not empty; a name occurs once
  std::string actor;          // who: "token ops-1", "certificate spiffe://…", "loopback", "file"
  std::string reason;         // why, in the author's words; may be empty
  std::int64_t at_us = 0;     // when, by the writer's clock
  std::string request_id;     // not empty: if the same actor sends the same change again, it is written once
  // The newest revision that the author has seen. Absent: any.
  std::optional<std::int64_t> expected_revision;
};

// One entry of the ledger. Immutable.
struct Record {
  std::int64_t revision = 0;  // position in the ledger: 1, 2, 3, …; old ones may be missing
  Kind kind = Kind::kPolicy;
  std::string name;
  std::int64_t version = 0;  // of this kind and name: 1, 2, 3, …; 0 for events
  std::string action;
  std::string body;
  std::string actor;
  std::string reason;
  std::int64_t at_us = 0;
  std::string request_id;
  std::string body_hash;  // SHA-256 of the body, 32 bytes
  std::string hash;       // of this record and the one before it, 32 bytes; see chain.h

  bool is_withdrawn() const { return kind != Kind::kEvent && body.empty(); }
  friend bool operator==(const Record&, const Record&) = default;
};

}  // namespace sluice::ledger

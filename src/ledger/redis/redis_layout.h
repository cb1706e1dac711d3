#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ledger/ledger.h"

// How a ledger is stored in Redis: two keys with one hash tag, so that a Cluster keeps them in one slot.
//
//   rl:{ledger}              a hash:
//     head                     "12 9f86d0…": the newest revision and its hash; absent: nothing was written
//     format                   "1"
//     documents                "7": how many rl:{ledger}:documents has
//     r12                      a record, its fields in the order of Record, each as 5:bytes,
//     npolicy:api.read         "46 0 12": newest version, whether it is withdrawn, revision
//     v46:policy:api.read      "12": the revision of a version
//     q9:loopbackreq-7         "11 2": the first revision and number of records of an actor's request id
//   rl:{ledger}:documents    a sorted set: "policy:api.read" by the revision of the newest version
//
// rl:{ledger} is also the channel on which each new head is published.
namespace sluice::ledger {

inline constexpr std::string_view kRedisFormat = "1";

struct RedisKeys {
  explicit RedisKeys(const std::string& prefix)
      : ledger(prefix + "{ledger}"), documents(ledger + ":documents") {}
  const std::string ledger, documents;
};

std::string record_field(std::int64_t revision);
std::string document_name(Kind kind, std::string_view name);  // as in the sorted set
std::string newest_field(std::string_view document);
inline std::string newest_field(Kind kind, std::string_view name) {
  return newest_field(document_name(kind, name));
}
std::string version_field(Kind kind, std::string_view name, std::int64_t version);
// REQUIRES: request_id is not empty.
std::string request_field(std::string_view actor, std::string_view request_id);

// The end of the chain.
struct Head {
  std::int64_t revision = 0;  // 0: nothing was written
  std::string hash;

  // As stored; empty if nothing was written.
  std::string text() const;
};
// Nothing: it is malformed, for instance changed by hand.
std::optional<Head> read_head(std::string_view text);

// Numbers separated by spaces: the first `N` of a text.
struct RedisNumbers {
  std::int64_t first = 0, second = 0, third = 0;
};
RedisNumbers read_numbers(std::string_view text);
// `newest` is the value of newest_field(document).
Listing read_listing(std::string_view document, std::string_view newest);

std::string encode(const Record& record);
// kFailedPrecondition names the revision that it was read from.
Result<Record> decode(std::int64_t revision, std::string_view bytes);

}  // namespace sluice::ledger

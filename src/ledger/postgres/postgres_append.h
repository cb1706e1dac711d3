#pragma once

#include <span>

#include "ledger/postgres/postgres_connection.h"
#include "ledger/record.h"

namespace sluice::ledger {

enum class Notify : std::uint8_t { kYes, kNo };

// What an actor wrote with a request id; nothing if the id is empty.
PostgresQuery find_by_request(const std::string& actor, const std::string& request_id);

Result<std::vector<Record>> to_records(const PostgresRows& rows);

// The channel on which changes are announced.
inline constexpr const char* kPostgresListen = "LISTEN sluice_ledger";

struct PostgresAppend {
  const Change& change;             // REQUIRES: it is valid
  std::span<const Record> removed;  // removed in the same step
  Notify notify = Notify::kYes;
};
// Ledger::append in PostgreSQL: one transaction, two round trips. Repeats the transaction when the database
// asks for it.
Result<std::vector<Record>> append_to(PostgresConnection& connection, const PostgresAppend& append);

}  // namespace sluice::ledger

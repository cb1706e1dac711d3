#pragma once

#include "ledger/postgres/postgres_connection.h"

// The tables of a ledger in PostgreSQL: plain SQL, which other databases with the same protocol accept, too.
namespace sluice::ledger {

// Creates the tables if they do not exist; several processes may do so at once. A user without the right to
// create tables can use existing ones.
PostgresResult<void> make_postgres_tables(PostgresConnection& connection);
// kInvalidArgument: the tables do not exist.
PostgresResult<void> find_postgres_tables(PostgresConnection& connection);

}  // namespace sluice::ledger

#pragma once

#include "ledger/postgres_connection.h"

// The tables of a ledger in PostgreSQL: plain SQL, which other databases with its protocol take too.
namespace sluice::ledger {

// Makes the tables if they are not there; several processes may do so at once. A user who may not make tables
// can use those that somebody else made.
PostgresResult<void> make_postgres_tables(PostgresConnection& connection);
// Fails with kInvalidArgument if they are not there.
PostgresResult<void> find_postgres_tables(PostgresConnection& connection);

}  // namespace sluice::ledger

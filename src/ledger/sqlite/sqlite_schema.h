#pragma once

#include <string>

#include "ledger/sqlite/sqlite_database.h"

// The tables of a ledger in SQLite, and the check that a file is ours.
namespace sluice::ledger {

// False: the file has no tables at all. kInvalidArgument: they belong to another application or version.
Result<bool> has_our_tables(SqliteDatabase& database, const std::string& name);

// Creates them, unless another process was faster.
Result<void> make_our_tables(SqliteDatabase& database, const std::string& name);

}  // namespace sluice::ledger

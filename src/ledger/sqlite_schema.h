#pragma once

#include <string>

#include "ledger/sqlite_database.h"

// The tables of a ledger in SQLite, and whose file it is.
namespace sluice::ledger {

// False: the file has no tables at all. kInvalidArgument: they are somebody else's, or of another version.
Result<bool> has_our_tables(SqliteDatabase& database, const std::string& name);

// Makes them, unless another process was faster.
Result<void> make_our_tables(SqliteDatabase& database, const std::string& name);

}  // namespace sluice::ledger

#include "cli/ledger_setup.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/command.h"
#include "ledger/postgres_ledger.h"
#include "ledger/sqlite_ledger.h"

namespace sluice::cli {
namespace {

constexpr std::string_view kSqlite = "sqlite:";

template <class T>
std::unique_ptr<ledger::Ledger> opened(Result<std::unique_ptr<T>> ledger) {
  if (!ledger) throw CommandError(fmt::format("--policy-db: {}", ledger.error().message));
  return std::move(*ledger);
}

std::unique_ptr<ledger::Ledger> open_ledger(const std::string& url, ledger::PostgresLedger::Options options) {
  if (url.starts_with(kSqlite)) return opened(ledger::SqliteLedger::open(url.substr(kSqlite.size())));
  if (url.starts_with("postgres://") || url.starts_with("postgresql://"))
    return opened(ledger::PostgresLedger::open(url, options));
  throw CommandError("--policy-db: write sqlite:FILE or postgres://USER@HOST/DATABASE");
}

}  // namespace

std::unique_ptr<ledger::Ledger> open_ledger(const std::string& url) { return open_ledger(url, {}); }

std::unique_ptr<ledger::Ledger> open_ledger_to_read(const std::string& url) {
  if (url.starts_with(kSqlite) && !std::filesystem::exists(url.substr(kSqlite.size())))
    throw CommandError(
        fmt::format("--policy-db: {} does not exist; name the file that the server uses", url));
  return open_ledger(url, {.listen = false, .make_tables = false});
}

}  // namespace sluice::cli

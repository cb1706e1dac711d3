#include "cli/ledger_setup.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "ledger/postgres_ledger.h"
#include "ledger/sqlite_ledger.h"

namespace sluice::cli {
namespace {

template <class T>
std::unique_ptr<ledger::Ledger> opened(Result<std::unique_ptr<T>> ledger) {
  if (!ledger) throw CommandError(fmt::format("--policy-db: {}", ledger.error().message));
  return std::move(*ledger);
}

}  // namespace

std::unique_ptr<ledger::Ledger> open_ledger(const std::string& url) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (url.starts_with(kSqlite)) return opened(ledger::SqliteLedger::open(url.substr(kSqlite.size())));
  if (url.starts_with("postgres://") || url.starts_with("postgresql://"))
    return opened(ledger::PostgresLedger::open(url, {}));
  throw CommandError("--policy-db: write sqlite:FILE or postgres://USER@HOST/DATABASE");
}

}  // namespace sluice::cli

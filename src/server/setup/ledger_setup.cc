#include "server/setup/ledger_setup.h"

#include <fmt/format.h>

#include <filesystem>

#include "ledger/postgres/postgres_ledger.h"
#include "ledger/redis/redis_ledger.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "server/command_error.h"
#include "server/serve_options.h"

namespace sluice::server {
namespace {

constexpr std::string_view kSqlite = "sqlite:", kSameAsStore = "redis";

template <class T>
T value_of(Result<T> result) {
  if (!result) throw CommandError(fmt::format("--policy-db: {}", result.error().message));
  return std::move(*result);
}

bool names_redis(std::string_view url) {
  return url == kSameAsStore || url.starts_with("redis:") || url.starts_with("redis+") ||
         url.starts_with("rediss:") || url.starts_with("rediss+") || url.starts_with("unix:");
}

redis::StoreTarget redis_of(const std::string& url, const StoreSettings& store) {
  if (url != kSameAsStore) return value_of(redis::parse_store_url(url));
  if (!store.redis)
    throw CommandError(
        "--policy-db: redis means the Redis of --store, but --store is not Redis; write redis://HOST:PORT");
  return *store.redis;
}

// An operator who names a file wants it to be created. The default must also work with policy files in a
// read-only folder.
ledger::SqliteLedger::Absent when_absent(const std::string& url) {
  using Absent = ledger::SqliteLedger::Absent;
  return url == ServeOptions().policy_db ? Absent::kIsFine : Absent::kMustBePossibleToMake;
}

std::unique_ptr<ledger::PostgresLedger> open_postgres(const std::string& url, bool only_looks) {
  return value_of(ledger::PostgresLedger::open(url, {.listen = !only_looks, .make_tables = !only_looks}));
}

std::unique_ptr<ledger::Ledger> open(const std::string& url, const StoreSettings& store,
                                     ledger::RedisLedgerOptions options) {
  if (url.starts_with(kSqlite))
    return value_of(ledger::SqliteLedger::open(url.substr(kSqlite.size()), when_absent(url)));
  if (url.starts_with("postgres://") || url.starts_with("postgresql://"))
    return open_postgres(url, options.must_exist);
  if (!names_redis(url))
    throw CommandError("--policy-db: write sqlite:FILE, postgres://USER@HOST/DATABASE or redis://HOST:PORT");
  options.key_prefix = store.key_prefix;
  return std::make_unique<ledger::RedisLedger>(redis_of(url, store), std::move(options));
}

}  // namespace

std::unique_ptr<ledger::Ledger> open_ledger(const std::string& url, const StoreSettings& store,
                                            const EventLog& log) {
  ledger::RedisLedgerOptions options;
  options.on_advice = [log](const std::vector<std::string>& advice) {
    for (const std::string& sentence : advice)
      log(LogEvent::kDatabaseAdvice, fmt::format("the policy database: {}", sentence));
  };
  return open(url, store, std::move(options));
}

std::unique_ptr<ledger::Ledger> open_ledger_to_read(const std::string& url, const std::string& key_prefix) {
  if (url.starts_with(kSqlite) && !std::filesystem::exists(url.substr(kSqlite.size())))
    throw CommandError(
        fmt::format("--policy-db: {} does not exist; name the file that the server uses", url));
  return open(url, {.redis = std::nullopt, .connections_max = std::nullopt, .key_prefix = key_prefix},
              {.must_exist = true});
}

std::string ledger_identity(const std::string& url, const ledger::Ledger& ledger,
                            const std::string& key_prefix) {
  const std::string where =
      url.starts_with(kSqlite)
          ? std::string(kSqlite) + std::filesystem::absolute(url.substr(kSqlite.size())).string()
          : ledger.name();
  return where + '\n' + key_prefix;
}

bool moves_policies(const std::string& url, const StoreSettings& before, const StoreSettings& after) {
  if (!names_redis(url)) return false;
  return before.key_prefix != after.key_prefix || (url == kSameAsStore && before.redis != after.redis);
}

}  // namespace sluice::server

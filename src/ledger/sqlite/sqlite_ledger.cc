#include "ledger/sqlite/sqlite_ledger.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/try.h"
#include "ledger/chain.h"
#include "ledger/record_page.h"
#include "ledger/record_row.h"

namespace sluice::ledger {
namespace {

constexpr int kLookEveryMs = 100;
constexpr int kPauseWhenAwayMs = 500;

constexpr std::int64_t kApplication = 0x536c7569;  // "Slui": identifies our files
constexpr std::int64_t kSchema = 1;

// `documents` has the revision of each newest version, so that loading does not read the history.
constexpr const char* kMakeTables = R"(
  CREATE TABLE records (
    revision INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,
    action TEXT NOT NULL, body TEXT NOT NULL, actor TEXT NOT NULL, reason TEXT NOT NULL, at_us INTEGER NOT NULL,
    request_id TEXT NOT NULL, body_hash BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
  CREATE UNIQUE INDEX records_by_version ON records (kind, name, version) WHERE version > 0;
  CREATE INDEX records_by_request ON records (request_id, actor) WHERE request_id <> '';
  CREATE TABLE documents (
    kind TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, withdrawn INTEGER NOT NULL,
    revision INTEGER NOT NULL, PRIMARY KEY (kind, name)) STRICT, WITHOUT ROWID;
  PRAGMA application_id = 0x536c7569;
  PRAGMA user_version = 1;
)";

// False: the file has no tables at all. kInvalidArgument: they belong to another application or version.
Result<bool> has_our_tables(SqliteDatabase& database, const std::string& name) {
  const auto application = SLUICE_TRY(database.number("PRAGMA application_id"));
  if (application != kApplication) {
    const auto tables = SLUICE_TRY(database.number("SELECT count(*) FROM sqlite_schema"));
    if (tables == 0) return false;
    return invalid("", name + " belongs to another application; use another file");
  }
  const auto schema = SLUICE_TRY(database.number("PRAGMA user_version"));
  if (schema == kSchema) return true;
  return invalid("", name + " has format " + std::to_string(schema) +
                         ", but this version of Sluice supports only " + std::to_string(kSchema) +
                         "; use the version that made it, or another file");
}

// Creates the tables, unless another process was faster.
Result<void> make_our_tables(SqliteDatabase& database, const std::string& name) {
  SqliteTransaction transaction(database);
  SLUICE_TRY(transaction.begin());
  const auto present = SLUICE_TRY(has_our_tables(database, name));
  if (present) return {};
  SLUICE_TRY(database.run(kMakeTables));
  return transaction.commit();
}

// Visits all records that can be read; the error is that of the first that cannot.
Result<void> for_each(SqliteQuery& query, const std::function<void(Record&&)>& visit) {
  Result<void> whole;
  while (true) {
    const auto row = SLUICE_TRY(query.next());
    if (!row) return whole;
    auto record = record_from(query);
    if (record)
      visit(std::move(*record));
    else if (whole)
      whole = std::unexpected(std::move(record.error()));
  }
}

Result<std::vector<Record>> all(SqliteQuery& query) {
  std::vector<Record> records;
  SLUICE_TRY(for_each(query, [&](Record&& record) { records.push_back(std::move(record)); }));
  return records;
}

Result<std::vector<Record>> page_of(SqliteQuery& query, std::size_t max) {
  RecordPage page(max);
  while (!page.is_full()) {
    const bool row = SLUICE_TRY(query.next());
    if (!row) break;
    auto record = SLUICE_TRY(record_from(query));
    page.add(std::move(record));
  }
  return std::move(page).take();
}

Result<std::vector<Record>> written_by(SqliteDatabase& database, const std::string& actor,
                                       const std::string& request_id) {
  if (request_id.empty()) return std::vector<Record>{};
  SqliteQuery query = database.query(
      "SELECT r.* FROM records r WHERE request_id = ? AND request_id <> '' AND actor = ?"
      " ORDER BY revision");
  query.text(request_id).text(actor);
  return all(query);
}

Result<std::vector<Newest>> newest_of(SqliteDatabase& database, const Change& change) {
  std::vector<Newest> newest(change.drafts.size());
  for (std::size_t i = 0; i < newest.size(); ++i) {
    SqliteQuery query =
        database.query("SELECT version, withdrawn FROM documents WHERE kind = ? AND name = ?");
    query.text(to_string(change.drafts[i].kind)).text(change.drafts[i].name);
    const auto row = SLUICE_TRY(query.next());
    if (row) newest[i] = {query.get_number(0), query.get_number(1) != 0};
  }
  return newest;
}

struct Head {
  std::int64_t revision = 0;
  std::string hash;
};

Result<Head> head_of(SqliteDatabase& database) {
  SqliteQuery query = database.query("SELECT revision, hash FROM records ORDER BY revision DESC LIMIT 1");
  const bool row = SLUICE_TRY(query.next());
  return row ? Head{query.get_number(0), query.get_text(1)} : Head{};
}

Result<void> insert(SqliteDatabase& database, const Record& record) {
  SqliteQuery line = database.query("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  line.number(record.revision).text(to_string(record.kind)).text(record.name).number(record.version);
  line.text(record.action).text(record.body).text(record.actor).text(record.reason).number(record.at_us);
  line.text(record.request_id).blob(record.body_hash).blob(record.hash);
  if (auto done = line.run(); !done || record.kind == Kind::kEvent) return done;
  SqliteQuery newest = database.query("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?)");
  newest.text(to_string(record.kind)).text(record.name).number(record.version);
  newest.number(record.is_withdrawn() ? 1 : 0).number(record.revision);
  return newest.run();
}

Result<void> remove(SqliteDatabase& database, std::span<const Record> records) {
  for (const Record& record : records) {
    SqliteQuery query = database.query("DELETE FROM records WHERE revision = ?");
    SLUICE_TRY(query.number(record.revision).run());
  }
  return {};
}

Result<std::vector<Record>> append_to(SqliteDatabase& database, const Change& change,
                                      std::span<const Record> removed) {
  SqliteTransaction transaction(database);
  SLUICE_TRY(transaction.begin());
  auto earlier = written_by(database, change.actor, change.request_id);
  if (!earlier) return earlier;
  if (!earlier->empty()) return answer_again(change, std::move(*earlier));
  const auto newest = SLUICE_TRY(newest_of(database, change));
  const auto head = SLUICE_TRY(head_of(database));
  const auto versions = SLUICE_TRY(check_expected(change, newest, head.revision));
  std::vector<Record> records = link(change, versions, head.revision, head.hash);
  for (const Record& record : records) SLUICE_TRY(insert(database, record));
  SLUICE_TRY(remove(database, removed));
  SLUICE_TRY(transaction.commit());
  return records;
}

}  // namespace

SqliteLedger::SqliteLedger(const std::string& path)
    : path_(std::filesystem::absolute(path).string()), name_("sqlite:" + path) {}

Result<std::unique_ptr<SqliteLedger>> SqliteLedger::open(const std::string& path, Absent absent) {
  if (path.empty() || path.find('\0') != path.npos)
    return invalid("", "sqlite: needs a file name, for example sqlite:./sluice.db");
  std::unique_ptr<SqliteLedger> ledger(new SqliteLedger(path));
  const std::filesystem::path folder = std::filesystem::path(ledger->path_).parent_path();
  if (std::error_code unknown; !std::filesystem::is_directory(folder, unknown))
    return invalid("", ledger->name_ + " cannot be created: there is no folder " + folder.string() +
                           "; create it, or use another file");
  if (auto opened = ledger->to_read(); !opened && opened.error().code == ErrorCode::kInvalidArgument)
    return std::unexpected(opened.error());
  if (absent == Absent::kMustBePossibleToMake) SLUICE_TRY(ledger->try_to_make_file());
  return ledger;
}

// Creates another file beside it and removes it at once, so that a server that never writes leaves nothing
// behind. A full disk is not an error here; it may have room later.
Result<void> SqliteLedger::try_to_make_file() const {
  if (std::error_code unknown; std::filesystem::exists(path_, unknown)) return {};
  const std::string attempt = path_ + ".try-" + std::to_string(getpid());
  if (mknod(attempt.c_str(), S_IFREG | S_IRUSR | S_IWUSR, 0) == 0) {
    unlink(attempt.c_str());
    return {};
  }
  if (errno == EEXIST || errno == ENOSPC || errno == EDQUOT) return {};
  return invalid("", name_ + " cannot be created: " + std::strerror(errno) +
                         "; make its folder writable or use another file");
}

template <class T>
Result<T> SqliteLedger::checked(Result<T> result) {
  if (!result && result.error().code == ErrorCode::kUnavailable) database_.reset();
  return result;
}

template <class T, class Read>
Result<T> SqliteLedger::reading(const Read& read) {
  auto database = SLUICE_TRY(to_read());
  if (database == nullptr) return T{};
  return checked<T>(read(*database));
}

Result<void> SqliteLedger::connect() {
  has_tables_ = false;
  may_write_ = false;
  may_have_log_ = true;
  file_ = file_state();
  auto opened = SLUICE_TRY(SqliteDatabase::open(path_, name_));
  SLUICE_TRY(opened->run("PRAGMA synchronous = FULL"));
  database_ = std::move(opened);
  ++connections_made_;
  return {};
}

Result<SqliteDatabase*> SqliteLedger::to_read() {
  // SQLite would go on with the pages that it has in memory. We may have changed the file ourselves, but
  // nobody can tell whether somebody else has at the same moment.
  if (database_ != nullptr && file_state() != file_) database_.reset();
  if (database_ == nullptr) {
    struct stat status{};
    const bool is_known = stat(path_.c_str(), &status) == 0;
    if (!is_known && (errno == ENOENT || errno == ENOTDIR)) return nullptr;
    if (is_known && S_ISDIR(status.st_mode)) return invalid("", name_ + " is a folder; name a file in it");
    if (is_known && !S_ISREG(status.st_mode))
      return invalid("", name_ + " is not a regular file; use a file");
    SLUICE_TRY(connect());
  }
  if (has_tables_) return database_.get();
  const auto present = SLUICE_TRY(checked(has_our_tables(*database_, name_)));
  if (!present) return nullptr;
  has_tables_ = true;
  return database_.get();
}

Result<void> SqliteLedger::make_file() const {
  // SQLite would make the file readable for everyone. Not open(): closing a file drops all locks that this
  // process holds on it, even those of another connection.
  if (mknod(path_.c_str(), S_IFREG | S_IRUSR | S_IWUSR, 0) == 0 || errno == EEXIST) return {};
  return std::unexpected(Error{ErrorCode::kUnavailable,
                               name_ + " cannot be created: " + std::strerror(errno) +
                                   "; make its folder writable or use another file",
                               ""});
}

Result<SqliteDatabase*> SqliteLedger::to_write() {
  auto present = to_read();
  if (!present || (*present != nullptr && may_write_)) return present;
  SLUICE_TRY(make_file());
  if (database_ == nullptr) SLUICE_TRY(connect());
  if (*present == nullptr) SLUICE_TRY(checked(make_our_tables(*database_, name_)));
  // Fails while another process does the same. The file is correct and durable in either mode; this one is
  // faster.
  [[maybe_unused]] const auto set = database_->run("PRAGMA journal_mode = WAL");
  may_write_ = true;
  return to_read();
}

Result<std::vector<Record>> SqliteLedger::append(const Change& change, std::span<const Record> removed) {
  SLUICE_TRY(validate(change));
  auto database = SLUICE_TRY(to_write());
  may_have_log_ = true;
  return checked(append_to(*database, change, removed));
}

Result<std::int64_t> SqliteLedger::revision() {
  return reading<std::int64_t>([](SqliteDatabase& database) -> Result<std::int64_t> {
    const auto head = SLUICE_TRY(head_of(database));
    return head.revision;
  });
}

Result<std::vector<Record>> SqliteLedger::read_after(std::int64_t revision, std::size_t max) {
  return reading<std::vector<Record>>([&](SqliteDatabase& database) {
    SqliteQuery query =
        database.query("SELECT r.* FROM records r WHERE revision > ? ORDER BY revision LIMIT ?");
    query.number(revision).number(row_count(max));
    return page_of(query, max);
  });
}

Result<void> SqliteLedger::for_each_document(const std::function<void(Record&&)>& visit) {
  auto database = SLUICE_TRY(to_read());
  if (database == nullptr) return {};
  const auto read = [&]() -> Result<void> {
    SqliteQuery query = database->query(
        "SELECT d.revision, r.kind, r.name, r.version, r.action, r.body, r.actor, r.reason, r.at_us,"
        " r.request_id, r.body_hash, r.hash FROM documents d LEFT JOIN records r ON r.revision = d.revision");
    return for_each(query, visit);
  };
  return checked(read());
}

Result<void> SqliteLedger::for_each_listing(const std::function<void(Listing&&)>& visit) {
  auto database = SLUICE_TRY(to_read());
  if (database == nullptr) return {};
  const auto read = [&]() -> Result<void> {
    SqliteQuery query = database->query("SELECT kind, name, version, withdrawn, revision FROM documents");
    while (true) {
      const auto row = SLUICE_TRY(query.next());
      if (!row) return {};
      visit(listing_from(query));
    }
  };
  return checked(read());
}

Result<std::optional<Record>> SqliteLedger::find(Kind kind, std::string_view name, std::int64_t version) {
  if (version < 1 || version == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  auto found = SLUICE_TRY(history(kind, name, version + 1, 1));
  if (found.empty() || found.front().version != version) return std::nullopt;
  return std::move(found.front());
}

Result<std::vector<Record>> SqliteLedger::history(Kind kind, std::string_view name, std::int64_t version,
                                                  std::size_t max) {
  return reading<std::vector<Record>>([&](SqliteDatabase& database) {
    SqliteQuery query = database.query(
        "SELECT r.* FROM records r WHERE kind = ? AND name = ? AND version > 0 AND version < ?"
        " ORDER BY version DESC LIMIT ?");
    query.text(to_string(kind)).text(name).number(version).number(row_count(max));
    return page_of(query, max);
  });
}

Result<std::vector<Record>> SqliteLedger::find_request(const std::string& actor,
                                                       const std::string& request_id) {
  return reading<std::vector<Record>>(
      [&](SqliteDatabase& database) { return written_by(database, actor, request_id); });
}

Result<SqliteLedger::Watch> SqliteLedger::watch() {
  const auto database = SLUICE_TRY(to_read());
  if (database == nullptr) return Watch{};
  const auto data_version = SLUICE_TRY(checked(database->number("PRAGMA data_version")));
  return Watch{connections_made_, data_version};
}

SqliteLedger::FileState SqliteLedger::file_state() const {
  struct stat status{};
  if (stat(path_.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, status.st_size,
          status.st_ctim.tv_sec * std::int64_t{1'000'000'000} + status.st_ctim.tv_nsec};
}

// Fails while another process does the same, or if this one may not write: then the log is emptied later, or
// by others.
void SqliteLedger::empty_log() {
  if (database_ == nullptr || !may_have_log_) return;
  [[maybe_unused]] const auto emptied = database_->run("PRAGMA wal_checkpoint(PASSIVE)");
  may_have_log_ = false;
}

bool SqliteLedger::wait(int timeout_ms) {
  for (int left_ms = std::max(timeout_ms, 0);;) {
    const auto seen = watch();
    if (!seen) {
      interrupter_.pause(std::min(left_ms, kPauseWhenAwayMs));
      return false;
    }
    if (*seen != watched_) {
      watched_ = *seen;
      may_have_log_ = true;
      return true;
    }
    empty_log();
    const int pause_ms = std::min(left_ms, kLookEveryMs);
    if (interrupter_.pause(pause_ms) || left_ms == pause_ms) return true;
    left_ms -= pause_ms;
  }
}

}  // namespace sluice::ledger

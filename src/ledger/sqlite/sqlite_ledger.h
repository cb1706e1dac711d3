#pragma once

#include <memory>
#include <string>

#include "ledger/interrupter.h"
#include "ledger/ledger.h"
#include "ledger/sqlite/sqlite_database.h"

namespace sluice::ledger {

// A ledger in an SQLite file, for one machine: any number of processes on it may share the file. Belongs to
// one thread, like every Ledger.
//
// The file is created on the first write, readable only by its owner; until then the ledger is empty and
// nothing is created. What append() returned survives kill -9 and, if the disk honours flushes, a power loss
// (WAL, synchronous=FULL).
//
// A file that is replaced by another one, or overwritten in place (`cp backup.db sluice.db`), is read afresh
// by the next call, whoever did it. For that an idle ledger leaves nothing in SQLite's write-ahead log, which
// would be read on top of the new contents.
class SqliteLedger final : public Ledger {
 public:
  enum class Absent : std::uint8_t { kIsFine, kMustBePossibleToMake };  // for a file that does not exist yet

  // Reports only permanent errors: kInvalidArgument if the path is empty, a folder or a device; if the file's
  // folder does not exist or (if asked for) is not writable; if the file is not a database, belongs to
  // another application, or was made by a newer version.
  static Result<std::unique_ptr<SqliteLedger>> open(const std::string& path, Absent absent = Absent::kIsFine);

  using Ledger::append;
  Result<std::vector<Record>> append(const Change& change, std::span<const Record> removed) override;
  Result<std::int64_t> revision() override;
  Result<std::vector<Record>> read_after(std::int64_t revision, std::size_t max) override;
  // REQUIRES: visit does not call this ledger.
  Result<void> for_each_document(const std::function<void(Record&&)>& visit) override;
  Result<void> for_each_listing(const std::function<void(Listing&&)>& visit) override;
  Result<std::optional<Record>> find(Kind kind, std::string_view name, std::int64_t version) override;
  Result<std::vector<Record>> history(Kind kind, std::string_view name, std::int64_t version,
                                      std::size_t max) override;
  Result<std::vector<Record>> find_request(const std::string& actor, const std::string& request_id) override;
  bool wait(int timeout_ms) override;
  void interrupt() override { interrupter_.ring(); }
  void start_over() noexcept override { database_.reset(); }
  std::string name() const override { return name_; }

 private:
  // What wait() compares: some field changes when another process has written.
  struct Watch {
    std::int64_t connection = 0;
    std::int64_t data_version = 0;
    friend bool operator==(const Watch&, const Watch&) = default;
  };

  // What changes when somebody replaces the file or writes to it.
  struct FileState {
    std::uint64_t device = 0, inode = 0;
    std::int64_t bytes = 0, changed_ns = 0;
    friend bool operator==(const FileState&, const FileState&) = default;
  };

  explicit SqliteLedger(const std::string& path);

  // The connection, opened if necessary; null while nothing was ever written.
  Result<SqliteDatabase*> to_read();
  // The connection to a file that exists and has our tables.
  Result<SqliteDatabase*> to_write();
  Result<void> connect();
  Result<void> make_file() const;
  Result<void> try_to_make_file() const;
  Result<Watch> watch();
  FileState file_state() const;  // of a file that does not exist: zeros
  void empty_log();              // of SQLite, into the file

  // The result of `read(database)`, or an empty T while there is nothing to read. If the database fails, the
  // connection is dropped, and the next call reopens it.
  template <class T, class Read>
  Result<T> reading(const Read& read);
  template <class T>
  Result<T> checked(Result<T> result);

  const std::string path_;  // absolute, so that a change of the working directory does not matter
  const std::string name_;
  std::unique_ptr<SqliteDatabase> database_;
  bool has_tables_ = false;  // of the current connection, like the next member
  bool may_write_ = false;
  FileState file_;            // when this connection was opened
  bool may_have_log_ = true;  // something was written, here or elsewhere, since the log was emptied
  std::int64_t connections_made_ = 0;
  Watch watched_;  // what the last wait() saw
  Interrupter interrupter_;
};

}  // namespace sluice::ledger

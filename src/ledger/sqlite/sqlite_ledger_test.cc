#include "ledger/sqlite/sqlite_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "ledger/testing/ledger_conformance.h"
#include "ledger/testing/temp_folder.h"

namespace sluice::ledger {
namespace {

using testing::HasSubstr;

class SqliteLedgerUnderTest final : public LedgerUnderTest {
 public:
  std::unique_ptr<Ledger> open() override { return SqliteLedger::open(folder_.file("ledger.db")).value(); }

 private:
  TempFolder folder_;
};

const LedgerFactory kSqlite{"sqlite", [] { return std::make_unique<SqliteLedgerUnderTest>(); }};
INSTANTIATE_TEST_SUITE_P(Sqlite, LedgerConformance, testing::Values(kSqlite));
INSTANTIATE_TEST_SUITE_P(Sqlite, LedgerSharing, testing::Values(kSqlite));
INSTANTIATE_TEST_SUITE_P(Sqlite, LedgerPruning, testing::Values(kSqlite));

Change sample(std::string body = "{}") {
  return {.drafts = {{Kind::kPolicy, "p", "update", std::move(body)}}, .actor = "test", .at_us = 1};
}

// Changes the file behind the ledger's back.
void run_sql(const std::string& path, const char* sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
  sqlite3_close(handle);
}

// As `cp` does, into the same inode. In another process: whoever closes a file of SQLite drops its locks.
void overwrite(const std::string& path, const std::string& with) {
  const pid_t copier = fork();
  if (copier == 0) {
    std::error_code failed;
    std::filesystem::copy_file(with, path, std::filesystem::copy_options::overwrite_existing, failed);
    _exit(failed ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(copier, &status, 0), copier);
  ASSERT_EQ(status, 0);
}

class SqliteLedgerFile : public testing::Test {
 protected:
  std::string path() const { return folder_.file("ledger.db"); }
  std::unique_ptr<SqliteLedger> open() const { return SqliteLedger::open(path()).value(); }
  const std::string& folder() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

TEST_F(SqliteLedgerFile, IsMadeAtTheFirstWriteForItsOwnerOnly) {
  const auto ledger = open();
  EXPECT_EQ(ledger->revision(), 0);
  EXPECT_TRUE(ledger->wait(0));
  EXPECT_EQ(prune(*ledger, 1, 1), 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder())) << "reading creates nothing";
  ASSERT_TRUE(ledger->append(sample()));
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    struct stat status{};
    ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u) << entry.path();
  }
  EXPECT_TRUE(std::filesystem::exists(path() + "-wal"));
}

TEST_F(SqliteLedgerFile, OutlivesItsHandles) {
  ASSERT_TRUE(open()->append(sample("1")));
  ASSERT_TRUE(open()->append(sample("2")));
  EXPECT_EQ(open()->revision(), 2);
  EXPECT_EQ(open()->name(), "sqlite:" + path());
}

TEST_F(SqliteLedgerFile, MayBeThereAndEmpty) {
  std::ofstream(path()).close();
  const auto ledger = open();
  EXPECT_EQ(ledger->revision(), 0);
  EXPECT_TRUE(ledger->append(sample()));
}

TEST_F(SqliteLedgerFile, OverwrittenInPlaceIsReadAfresh) {
  const auto ledger = open(), another = open();
  const std::string backup = folder() + "/backup.db", newest = folder() + "/newest.db";
  const auto rest = [&] {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(ledger->wait(0));
  };
  const auto revisions = [&] { return std::vector{ledger->revision().value(), another->revision().value()}; };
  ASSERT_TRUE(ledger->append(sample("1")));
  rest();
  overwrite(backup, path());
  ASSERT_TRUE(ledger->append(sample("2")));
  rest();
  overwrite(newest, path());
  ASSERT_EQ(revisions(), (std::vector<std::int64_t>{2, 2}));
  overwrite(path(), backup);
  EXPECT_EQ(revisions(), (std::vector<std::int64_t>{1, 1}));
  overwrite(path(), newest);
  EXPECT_EQ(revisions(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_TRUE(ledger->append(sample("3")));
  EXPECT_EQ(another->read_after(0, 10).value().size(), 3u);
}

TEST_F(SqliteLedgerFile, TamperingIsFoundByTheVerifier) {
  const auto ledger = open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ledger->append(sample(std::to_string(i))));
  run_sql(path(), "UPDATE records SET body = '9' WHERE revision = 2");
  ChainVerifier verifier;
  const auto records = ledger->read_after(0, 10).value();
  EXPECT_TRUE(verifier.feed(records[0]));
  EXPECT_THAT(verifier.feed(records[1]).error().message, HasSubstr("revision 2:"));
  run_sql(path(), "UPDATE records SET kind = 'pirate' WHERE revision = 2");
  EXPECT_THAT(ledger->read_after(0, 10).error().message, HasSubstr("revision 2: unknown kind 'pirate'"));
}

TEST_F(SqliteLedgerFile, WhatCanNeverWorkIsRefusedAtTheStart) {
  EXPECT_EQ(SqliteLedger::open("").error().code, ErrorCode::kInvalidArgument);
  const auto refusal = [&] { return SqliteLedger::open(path()).error(); };

  std::filesystem::create_directory(path());
  EXPECT_THAT(refusal().message, HasSubstr("is a folder; name a file in it"));
  std::filesystem::remove(path());

  EXPECT_THAT(SqliteLedger::open("/dev/null").error().message, HasSubstr("is not a regular file"));

  std::ofstream(path())
      << "policies:\n  - id: this is a policy file, as long as the head of a database is, or longer.\n";
  EXPECT_THAT(refusal().message, HasSubstr("is not a database; name another file"));
  std::filesystem::remove(path());

  run_sql(path(), "CREATE TABLE bookmarks (url TEXT)");
  EXPECT_THAT(refusal().message, HasSubstr("belongs to another application"));
  std::filesystem::remove(path());

  ASSERT_TRUE(open()->append(sample()));
  run_sql(path(), "PRAGMA user_version = 2");
  EXPECT_EQ(refusal().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refusal().message, HasSubstr("has format 2, but this version of Sluice supports only 1"));
}

TEST_F(SqliteLedgerFile, AFolderThatTakesNoFilesIsToldAtTheStartToWhoAsks) {
  using Absent = SqliteLedger::Absent;
  const auto refused = SqliteLedger::open("/proc/ledger.db", Absent::kMustBePossibleToMake);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("sqlite:/proc/ledger.db cannot be created: "));
  EXPECT_TRUE(SqliteLedger::open("/proc/ledger.db"));
  EXPECT_TRUE(SqliteLedger::open(path(), Absent::kMustBePossibleToMake));
  EXPECT_TRUE(std::filesystem::is_empty(folder())) << "asking leaves nothing behind";
}

TEST_F(SqliteLedgerFile, CannotBeMadeWhereNothingCanBe) {
  const std::string missing = folder() + "/missing";
  const auto nowhere = SqliteLedger::open(missing + "/ledger.db");
  ASSERT_FALSE(nowhere) << "it can be told at the start";
  EXPECT_EQ(nowhere.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(nowhere.error().message, HasSubstr("there is no folder " + missing));
  std::filesystem::create_directory(missing);
  const auto ledger = SqliteLedger::open(missing + "/ledger.db").value();
  std::filesystem::remove(missing);
  EXPECT_EQ(ledger->revision(), 0);
  const auto error = ledger->append(sample()).error();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("cannot be created: No such file or directory"));
  std::filesystem::create_directory(missing);
  EXPECT_TRUE(ledger->append(sample())) << "the next call tries again";
  // A folder in which not even root can create a file.
  EXPECT_EQ(SqliteLedger::open("/proc/self/ledger.db").value()->append(sample()).error().code,
            ErrorCode::kUnavailable);
}

// Limits the size of files of this process: to SQLite this looks like a full disk.
TEST_F(SqliteLedgerFile, ADiskThatIsFullIsAnErrorUntilThereIsRoom) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample("before")));
  rlimit limits{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limits), 0);
  const rlimit small{256 << 10, limits.rlim_max};
  const auto previous = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const auto refused = ledger->append(sample(std::string(512 << 10, 'x')));
  const auto still_there = ledger->read_after(0, 10);
  setrlimit(RLIMIT_FSIZE, &limits);
  signal(SIGXFSZ, previous);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("disk"));
  ASSERT_TRUE(still_there) << still_there.error().message;
  EXPECT_EQ(still_there->size(), 1u);
  EXPECT_EQ(ledger->append(sample("after")).value().front().revision, 2);
}

TEST_F(SqliteLedgerFile, AWriterThatNeverEndsIsAnErrorAndReadersGoOn) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  sqlite3* stuck = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &stuck), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(stuck, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto error = ledger->append(sample()).error();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("is locked by another process"));
  EXPECT_EQ(ledger->revision(), 1);
  sqlite3_close(stuck);
  EXPECT_TRUE(ledger->append(sample()));
}

// The file is deleted under a running node: later writes must not vanish with the old file.
TEST_F(SqliteLedgerFile, AReplacedFileIsNoticed) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path() + end);
  EXPECT_EQ(ledger->revision(), 0);
  ASSERT_TRUE(ledger->append(sample()));
  EXPECT_EQ(open()->revision(), 1);
}

TEST_F(SqliteLedgerFile, AFileThatGoesBadIsAnError) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  EXPECT_EQ(ledger->append(sample()).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(ledger->wait(1));
  std::filesystem::remove(path());
  EXPECT_TRUE(ledger->append(sample()));
  EXPECT_TRUE(ledger->wait(1));
}

}  // namespace
}  // namespace sluice::ledger

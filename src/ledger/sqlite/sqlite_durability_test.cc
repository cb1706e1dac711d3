#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <random>

#include "base/testing/seed.h"
#include "ledger/chain.h"
#include "ledger/prune.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "ledger/testing/read_all.h"
#include "ledger/testing/temp_folder.h"
#include "ledger/verify.h"

namespace sluice::ledger {
namespace {

// A writer's report of each committed change, sent before it starts the next.
struct Report {
  std::int64_t revision = 0;
  std::int64_t number = 0;
};

std::string body_of(int round, std::int64_t number) {
  return "{\"round\":" + std::to_string(round) + ",\"number\":" + std::to_string(number) + "}";
}

Change nth(int round, std::int64_t number) {
  Change change{.actor = "writer", .at_us = number};
  // Several records in one change, and sometimes large ones, so that a kill can hit the middle of a change.
  change.drafts.push_back(
      {Kind::kPolicy, "p" + std::to_string(number % 7), "update", body_of(round, number)});
  change.drafts.push_back({Kind::kEvent, "e", "note", std::string(number % 5 == 0 ? 40'000 : 10, 'x')});
  return change;
}

enum class Old : std::uint8_t { kStay, kGo };

// Appends until it is killed. With kGo, changes with even numbers are old, and their events are removed.
[[noreturn]] void write_forever(const std::string& path, int round, Old old, int reports) {
  constexpr std::int64_t kYoungUs = 10 * kPruneSlackUs;
  auto ledger = SqliteLedger::open(path);
  for (std::int64_t number = 0; ledger; ++number) {
    Change change = nth(round, number);
    if (old == Old::kGo && number % 2 == 1) change.at_us = kYoungUs;
    const auto written = (*ledger)->append(change);
    if (!written) break;
    if (old == Old::kGo && number % 10 == 0 && !prune(**ledger, kYoungUs, kYoungUs)) break;
    const Report report{written->front().revision, number};
    if (write(reports, &report, sizeof(report)) != sizeof(report)) break;
  }
  _exit(1);
}

// Starts a writer, kills it a while after it has begun, and returns its reports.
std::vector<Report> run_and_kill(const std::string& path, int round, Old old, useconds_t life_us) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe(ends), 0);
  const pid_t writer = fork();
  if (writer == 0) {
    close(ends[0]);
    write_forever(path, round, old, ends[1]);
  }
  close(ends[1]);
  std::vector<Report> reports;
  Report report;
  const auto next = [&] { return read(ends[0], &report, sizeof(report)) == sizeof(report); };
  while (reports.size() < 2 && next()) reports.push_back(report);
  usleep(life_us);
  kill(writer, SIGKILL);
  int status = 0;
  waitpid(writer, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer gave up by itself";
  while (next()) reports.push_back(report);
  close(ends[0]);
  return reports;
}

TEST(SqliteDurability, WhatWasAnsweredSurvivesKill9AtAnyInstant) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  TempFolder folder;
  const std::string path = folder.file("ledger.db");
  std::size_t reported = 0;
  for (int round = 0; round < 30; ++round) {
    const std::vector<Report> reports =
        run_and_kill(path, round, Old::kStay, static_cast<useconds_t>(random() % 100'000));
    reported += reports.size();
    const auto ledger = SqliteLedger::open(path).value();
    const std::vector<Record> records = read_all(*ledger);
    for (const auto& [revision, number] : reports) {
      ASSERT_LE(revision, static_cast<std::int64_t>(records.size())) << "round " << round;
      ASSERT_EQ(records[static_cast<std::size_t>(revision - 1)].body, body_of(round, number));
    }
    EXPECT_EQ(records.size() % 2, 0u) << "half a change, in round " << round;
    ChainVerifier verifier;
    for (const Record& record : records) {
      const auto good = verifier.feed(record);
      ASSERT_TRUE(good) << good.error().message;
    }
    const auto next = ledger->append(nth(round, -1));
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_EQ(next->front().revision, static_cast<std::int64_t>(records.size()) + 1);
  }
  EXPECT_GT(reported, 30u) << "too few writes were under way to say anything";
}

TEST(SqliteDurability, WhatIsOldGoesAsAWholeAtAnyInstantOfKill9) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  TempFolder folder;
  const std::string path = folder.file("ledger.db");
  std::size_t reported = 0, gone = 0;
  for (int round = 0; round < 30; ++round) {
    const std::vector<Report> reports =
        run_and_kill(path, round, Old::kGo, static_cast<useconds_t>(random() % 100'000));
    reported += reports.size();
    const auto ledger = SqliteLedger::open(path).value();
    const auto whole = verify_ledger(*ledger);
    ASSERT_TRUE(whole) << whole.error().message << ", round " << round;
    std::map<std::int64_t, Record> records;
    for (Record& record : read_all(*ledger)) records[record.revision] = record;
    for (const auto& [revision, number] : reports) {
      ASSERT_EQ(records[revision].body, body_of(round, number)) << "a policy, round " << round;
      const bool is_there = records.contains(revision + 1);
      if (number % 2 == 1) ASSERT_TRUE(is_there) << "a young event, round " << round;
      gone += is_there ? 0 : 1;
    }
  }
  EXPECT_GT(reported, 30u) << "too few writes were under way to say anything";
  EXPECT_GT(gone, 5u);
}

}  // namespace
}  // namespace sluice::ledger

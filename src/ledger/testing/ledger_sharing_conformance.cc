#include <gmock/gmock.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/clock.h"
#include "base/testing/seed.h"
#include "ledger/prune.h"
#include "ledger/testing/ledger_conformance.h"
#include "ledger/testing/memory_ledger.h"

namespace sluice::ledger {
namespace {

// A generous bound for what takes milliseconds: only a broken ledger makes a test wait this long.
constexpr int kGenerousMs = 30'000;

// Whether a wait ends because of an event, not because of its timeout.
bool wakes_up(Ledger& ledger) {
  const SystemClock clock;
  const std::int64_t before_us = clock.now_us();
  return ledger.wait(kGenerousMs) && clock.now_us() - before_us < kGenerousMs * std::int64_t{1000};
}

// Waits as a follower does. A wait may end early, so several may be needed.
bool follow_to(Ledger& ledger, std::int64_t revision) {
  while (ledger.revision().value() < revision)
    if (!wakes_up(ledger)) return false;
  return true;
}

TEST_P(LedgerSharing, HandlesSeeEachOthersWrites) {
  const auto other = another();
  EXPECT_EQ(other->revision(), 0);
  const Record ours = write(change(policy("p", "1")));
  EXPECT_EQ(other->find(Kind::kPolicy, "p", 1).value(), ours);
  const auto theirs = other->append(change(policy("p", "2", 1)));
  ASSERT_TRUE(theirs) << theirs.error().message;
  EXPECT_EQ(ledger().history(Kind::kPolicy, "p", kEveryVersion, 1).value(), *theirs);
  EXPECT_EQ(refusal(change(policy("p", "3", 1))).code, ErrorCode::kStale);
  expect_chain_holds();
}

TEST_P(LedgerSharing, AWaitEndsWhenAnotherHandleWrites) {
  const auto writer = another();
  for (std::int64_t i = 1; i <= 5; ++i) {
    std::thread thread([&] { EXPECT_TRUE(writer->append(change(policy("p", std::to_string(i))))); });
    EXPECT_TRUE(follow_to(ledger(), i));
    thread.join();
  }
}

// A change after the follower has read and before it waits must end the wait.
TEST_P(LedgerSharing, NothingIsMissedBetweenReadingAndWaiting) {
  const auto writer = another();
  for (std::int64_t i = 1; i <= 5; ++i) {
    ledger().wait(0);
    EXPECT_EQ(ledger().revision(), i - 1);
    ASSERT_TRUE(writer->append(change(policy("p", std::to_string(i)))));
    EXPECT_TRUE(wakes_up(ledger()));
  }
}

TEST_P(LedgerSharing, AWaitEndsWhenItsTimeIsOver) {
  write(change(policy("p", "1")));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(ledger().wait(1));
}

TEST_P(LedgerSharing, InterruptEndsAWaitFromAnotherThread) {
  write(change(policy("p", "1")));
  ledger().wait(0);
  ledger().interrupt();
  EXPECT_TRUE(wakes_up(ledger())) << "the next one, if none is in progress";
  for (int i = 0; i < 3; ++i) {
    std::atomic<bool> over = false;
    std::thread thread([&] {
      while (!over) ledger().interrupt(), std::this_thread::yield();
    });
    EXPECT_TRUE(wakes_up(ledger()));
    over = true;
    thread.join();
  }
}

// Both start on a database that does not exist yet; every version has exactly one author.
TEST_P(LedgerSharing, OneOfTwoWritersWinsEachVersion) {
  constexpr std::int64_t kVersions = 60;
  std::atomic<int> wins = 0;
  const auto write_all = [&](Ledger& mine, const char* who) {
    while (true) {
      const auto newest = mine.history(Kind::kPolicy, "p", kEveryVersion, 1);
      ASSERT_TRUE(newest) << newest.error().message;
      const std::int64_t version = newest->empty() ? 0 : newest->front().version;
      if (version >= kVersions) return;
      const auto written = mine.append(change(policy("p", who, version), "", who));
      if (!written) {
        ASSERT_EQ(written.error().code, ErrorCode::kStale) << written.error().message;
        continue;
      }
      EXPECT_EQ(written->front().version, version + 1);
      ++wins;
    }
  };
  const auto other = another();
  std::thread thread([&] { write_all(*other, "second"); });
  write_all(ledger(), "first");
  thread.join();
  EXPECT_EQ(wins, kVersions);
  EXPECT_EQ(ledger().revision(), kVersions);
  expect_chain_holds();
}

TEST_P(LedgerSharing, ARequestSentTwiceAtOnceIsWrittenOnce) {
  const auto other = another();
  for (int i = 0; i < 10; ++i) {
    const Change wish = change(policy("p" + std::to_string(i), "{}"), "r-" + std::to_string(i));
    Result<std::vector<Record>> theirs;
    std::thread thread([&] { theirs = other->append(wish); });
    const auto ours = ledger().append(wish);
    thread.join();
    ASSERT_TRUE(ours) << ours.error().message;
    ASSERT_TRUE(theirs) << theirs.error().message;
    EXPECT_EQ(*ours, *theirs);
    EXPECT_EQ(ledger().revision(), i + 1);
  }
}

std::vector<Record> documents(Ledger& ledger) {
  std::vector<Record> found;
  EXPECT_TRUE(ledger.for_each_document([&](Record&& record) { found.push_back(std::move(record)); }));
  std::ranges::sort(found, {}, &Record::revision);
  return found;
}

// Random changes on few names, by two handles in turn. After each, the answer and the contents must equal
// those of the memory ledger.
TEST_P(LedgerSharing, AnswersAsTheMemoryLedgerDoes) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  const auto pick = [&](std::initializer_list<const char*> texts) {
    return std::string(texts.begin()[below(texts.size())]);
  };

  MemoryLedger oracle(std::make_shared<MemoryDatabase>());
  const auto other = another();
  Change wish;
  for (int round = 0; round < 400; ++round) {
    Ledger& tested = below(2) == 0 ? ledger() : *other;
    if (wish.drafts.empty() || below(5) != 0) {  // else repeat the last change
      wish = {
          .actor = pick({"ann", "bob"}), .reason = pick({"", "noon"}), .at_us = below(1000) * kPruneSlackUs};
      if (below(2) == 0) wish.request_id = "r-" + std::to_string(below(40));
      for (std::int64_t i = 1 + below(4); i > 0; --i) {
        Draft draft{static_cast<Kind>(below(6)), pick({"a", "b", "c"}), pick({"create", "update"}),
                    pick({"", "{}", "{\"n\":1}"})};
        if (below(3) == 0) draft.expected_version = below(8);
        wish.drafts.push_back(std::move(draft));
      }
    }
    const auto answer = tested.append(wish), expected = oracle.append(wish);
    ASSERT_EQ(answer.has_value(), expected.has_value()) << "round " << round;
    if (answer) {
      ASSERT_EQ(*answer, *expected) << "round " << round;
    } else {
      ASSERT_EQ(answer.error().message, expected.error().message) << "round " << round;
    }

    const std::int64_t time = below(1000) * kPruneSlackUs, version = below(10), revision = below(300);
    const auto kind = static_cast<Kind>(below(6));
    const auto max = static_cast<std::size_t>(below(5));
    if (below(30) == 0) {
      ASSERT_EQ(prune(tested, time, kNow).value(), prune(oracle, time, kNow).value());
    }
    ASSERT_EQ(tested.revision().value(), oracle.revision().value());
    ASSERT_EQ(tested.read_after(revision, max).value(), oracle.read_after(revision, max).value());
    ASSERT_EQ(tested.find(kind, "a", version).value(), oracle.find(kind, "a", version).value());
    ASSERT_EQ(tested.history(kind, "b", version, max).value(),
              oracle.history(kind, "b", version, max).value());
  }
  EXPECT_GT(oracle.revision().value(), 50);
  EXPECT_EQ(documents(ledger()), documents(oracle));
  EXPECT_EQ(all(), read_all(oracle));
  expect_chain_holds();
}

}  // namespace
}  // namespace sluice::ledger

#include "ledger/testing/ledger_fault_conformance.h"

#include <atomic>
#include <thread>

#include "ledger/prune.h"
#include "ledger/verify.h"

namespace sluice::ledger {
namespace {

TEST_P(LedgerFaults, AServerThatHasCrashedIsAnErrorUntilItIsBackAndHasLostNothing) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  server().crash();
  expect_unavailable(ledger->append(sample()).error());
  expect_unavailable(ledger->revision().error());
  expect_unavailable(ledger->for_each_document([](Record&&) {}).error());
  EXPECT_FALSE(ledger->wait(1));
  server().start();
  EXPECT_TRUE(recovers(*ledger));
  EXPECT_EQ(ledger->append(sample()).value().front().revision, 2);
  EXPECT_TRUE(verify_ledger(*open()));
}

TEST_P(LedgerFaults, AServerThatIsFrozenIsAnErrorUntilItGoesOn) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  server().freeze();
  const auto write = ledger->append(sample());
  const auto read = ledger->revision();  // on a new connection, which is never accepted
  server().thaw();
  expect_unavailable(write.error());
  expect_unavailable(read.error());
  EXPECT_TRUE(recovers(*ledger));
}

// A follower that only waits and reads, while the server goes down and comes back.
TEST_P(LedgerFaults, AFollowerSurvivesARestart) {
  const auto writer = open();
  ASSERT_TRUE(writer->append(sample()));
  std::atomic<std::int64_t> seen = 0;
  std::thread follower([&, ledger = open()] {
    while (seen < 3) {
      ledger->wait(60'000);
      seen = ledger->revision().value_or(seen);
    }
  });
  const auto sees = [&](std::int64_t revision) {
    EXPECT_TRUE(waits_until([&] { return seen == revision; })) << revision;
  };
  sees(1);
  ASSERT_TRUE(writer->append(sample()));
  sees(2);
  server().crash();
  expect_unavailable(writer->append(sample()).error());
  server().start();
  EXPECT_TRUE(recovers(*writer));
  ASSERT_TRUE(writer->append(sample()));
  sees(3);
  follower.join();
}

// Two writers repeat each change, with its id, until they get an answer, while the server freezes and
// crashes: every change is there once.
TEST_P(LedgerFaults, WhatBecameOfAChangeIsSettledByItsRequestId) {
  std::atomic<bool> over = false;
  std::atomic<std::int64_t> answered = 0, failed = 0;
  const auto write = [&](const std::string& who) {
    const auto ledger = open();
    for (std::int64_t number = 0; !over || number == 0;) {
      Change change = sample(std::to_string(number), "r-" + std::to_string(number));
      change.actor = who;
      change.drafts[0].name = who;
      const auto written = ledger->append(change);
      if (written) {
        EXPECT_EQ(written->front().version, ++number);
        ++answered;
      } else {
        expect_unavailable(written.error());
        ++failed;
      }
    }
  };
  std::thread one([&] { write("one"); }), two([&] { write("two"); });
  const auto wait_until_more = [](const std::atomic<std::int64_t>& count) {
    EXPECT_TRUE(waits_until([&, before = count.load()] { return count > before; }));
  };
  for (int round = 0; round < 4; ++round) {
    wait_until_more(answered);
    if (round % 2 == 0) {
      server().crash();
      server().start();
    } else {
      server().freeze();
      wait_until_more(failed);
      server().thaw();
    }
  }
  wait_until_more(answered);
  over = true;
  one.join();
  two.join();
  const auto ledger = open();
  EXPECT_EQ(ledger->revision().value(), answered);
  EXPECT_TRUE(verify_ledger(*ledger));
}

// Old records are removed while the server crashes and freezes: whatever was answered, the rest verifies, and
// nothing newer is missing.
TEST_P(LedgerFaults, WhatIsOldGoesAsAWholeOrNotAtAll) {
  constexpr std::int64_t kNow = 2 * kPruneSlackUs;
  std::atomic<bool> over = false;
  std::atomic<std::int64_t> removed = 0, failed = 0;
  std::thread sweeper([&, ledger = open()] {
    for (std::int64_t number = 0; !over; ++number) {
      Change change = sample(std::to_string(number), "r-" + std::to_string(number));
      change.drafts.push_back({Kind::kEvent, "e", "reset", "{}"});
      // NOLINTNEXTLINE(bugprone-unused-return-value): no answer while the server is away, and none is needed
      static_cast<void>(ledger->append(change));
      const auto gone = prune(*ledger, kNow - kPruneSlackUs + 2, kNow);
      gone ? removed += * gone : failed += 1;
    }
  });
  const auto wait_until_more = [](const std::atomic<std::int64_t>& count) {
    EXPECT_TRUE(waits_until([&, before = count.load()] { return count > before; }));
  };
  for (int round = 0; round < 4; ++round) {
    wait_until_more(removed);
    if (round % 2 == 0) {
      server().crash();
      server().start();
    } else {
      server().freeze();
      wait_until_more(failed);
      server().thaw();
    }
    const auto reader = open();
    ASSERT_TRUE(recovers(*reader));
    const auto found = verify_ledger(*reader);
    EXPECT_TRUE(found) << found.error().message;
  }
  over = true;
  sweeper.join();
  const auto found = verify_ledger(*open());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->anchor);
}

}  // namespace
}  // namespace sluice::ledger

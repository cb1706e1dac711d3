#include "control/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "ledger/testing/memory_ledger.h"

namespace sluice::control {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OutboxTest : public ::testing::Test {
 protected:
  OutboxTest() { EXPECT_TRUE(follower_.load()); }
  void post() {
    outbox_.post({.drafts = {{ledger::Kind::kEvent, "p", "reset", "{}"}}, .actor = "token ops", .at_us = 1});
  }

  std::shared_ptr<ledger::MemoryDatabase> database_ = std::make_shared<ledger::MemoryDatabase>();
  ledger::MemoryLedger ledger_{database_};
  LedgerFollower follower_{ledger_};
  ManualClock clock_{1'800'000'000'000'000};
  std::vector<std::string> log_;
  Outbox outbox_{clock_, [this](LogEvent, std::string_view sentence) { log_.emplace_back(sentence); }};
};

TEST_F(OutboxTest, WithoutAFolderARecordThatTheDatabaseHasIsNoProblem) {
  post();
  outbox_.write(follower_);
  EXPECT_EQ(outbox_.problem(), "");
  EXPECT_TRUE(outbox_.can_keep_resets());
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(OutboxTest, WithoutAFolderARecordThatWaitsForTheDatabaseIsAProblemUntilItIsWritten) {
  database_->set_available(false);
  post();
  outbox_.write(follower_);
  EXPECT_THAT(outbox_.problem(),
              AllOf(HasSubstr("1 audit records wait for the policy database and would be lost"),
                    HasSubstr("set a folder with --state-dir")));
  EXPECT_FALSE(outbox_.can_keep_resets());
  EXPECT_THAT(outbox_.metrics(), HasSubstr("rate_limiter_audit_records_unsaved 1\n"));
  EXPECT_THAT(log_,
              ElementsAre(HasSubstr("it would be lost with this process, because --state-dir is empty")));

  database_->set_available(true);
  clock_.advance(3'600'000'000);
  outbox_.write(follower_);
  EXPECT_EQ(outbox_.problem(), "");
  EXPECT_TRUE(outbox_.can_keep_resets());
  EXPECT_THAT(outbox_.metrics(), HasSubstr("rate_limiter_audit_records_unsaved 0\n"));
}

// What an admin is told when the answer does not wait for the database.
TEST_F(OutboxTest, WithoutAFolderSavingFails) {
  database_->set_available(false);
  post();
  outbox_.save();
  EXPECT_THAT(outbox_.problem(), HasSubstr("would be lost"));
}

}  // namespace
}  // namespace sluice::control

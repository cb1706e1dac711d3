#include "ledger/testing/memory_ledger.h"

#include <gtest/gtest.h>

#include "ledger/testing/ledger_conformance.h"

namespace sluice::ledger {
namespace {

class MemoryLedgerUnderTest final : public LedgerUnderTest {
 public:
  std::unique_ptr<Ledger> open() override { return std::make_unique<MemoryLedger>(database_); }

 private:
  std::shared_ptr<MemoryDatabase> database_ = std::make_shared<MemoryDatabase>();
};

const LedgerFactory kMemory{"memory", [] { return std::make_unique<MemoryLedgerUnderTest>(); }};
INSTANTIATE_TEST_SUITE_P(Memory, LedgerConformance, testing::Values(kMemory));
INSTANTIATE_TEST_SUITE_P(Memory, LedgerSharing, testing::Values(kMemory));
INSTANTIATE_TEST_SUITE_P(Memory, LedgerPruning, testing::Values(kMemory));

TEST(MemoryLedger, CanBeSwitchedOffAndOn) {
  const auto database = std::make_shared<MemoryDatabase>();
  MemoryLedger ledger(database);
  const Change change{.drafts = {{Kind::kPolicy, "p", "create", "{}"}}, .actor = "test"};
  ASSERT_TRUE(ledger.append(change));
  database->set_available(false);
  EXPECT_EQ(ledger.append(change).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(ledger.revision().error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(ledger.wait(60'000)) << "it does not wait for what cannot be seen";
  database->set_available(true);
  EXPECT_TRUE(ledger.wait(0));
  EXPECT_EQ(ledger.revision(), 1);
}

}  // namespace
}  // namespace sluice::ledger

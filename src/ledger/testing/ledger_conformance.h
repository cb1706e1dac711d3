#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ledger/chain.h"
#include "ledger/ledger.h"
#include "ledger/prune.h"
#include "ledger/testing/read_all.h"
#include "ledger/verify.h"

namespace sluice::ledger {

// A new, empty database under test; destroyed with the object. Not thread-safe.
class LedgerUnderTest {
 public:
  virtual ~LedgerUnderTest() = default;
  // Opens another handle, as another process would.
  virtual std::unique_ptr<Ledger> open() = 0;
};

struct LedgerFactory {
  std::string name;
  std::function<std::unique_ptr<LedgerUnderTest>()> make;
};
// For Ledger::history(): before no version in particular.
inline constexpr std::int64_t kEveryVersion = std::numeric_limits<std::int64_t>::max();
inline void PrintTo(const LedgerFactory& factory, std::ostream* out) { *out << factory.name; }

// Tests of the promises of ledger.h, for every implementation: ledger_conformance.cc for one handle,
// ledger_sharing_conformance.cc for several, ledger_pruning_conformance.cc for the removal of old records.
// The test of an implementation instantiates them:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, LedgerConformance, testing::Values(LedgerFactory{"memory", make}));
//   INSTANTIATE_TEST_SUITE_P(Memory, LedgerSharing, testing::Values(LedgerFactory{"memory", make}));
//   INSTANTIATE_TEST_SUITE_P(Memory, LedgerPruning, testing::Values(LedgerFactory{"memory", make}));
class LedgerConformance : public testing::TestWithParam<LedgerFactory> {
 protected:
  static constexpr std::int64_t kNow = 1'800'000'000'000'000;

  Ledger& ledger() { return *ledger_; }
  std::unique_ptr<Ledger> another() { return under_test_->open(); }

  static Change change(Draft draft, std::string request_id = "", std::string actor = "token ops-1") {
    return {.drafts = {std::move(draft)},
            .actor = std::move(actor),
            .reason = "why not",
            .at_us = kNow,
            .request_id = std::move(request_id)};
  }
  static Draft policy(std::string name, std::string body,
                      std::optional<std::int64_t> expected = std::nullopt) {
    return {Kind::kPolicy, std::move(name), "update", std::move(body), expected};
  }
  static Draft event(std::string name, std::string body) {
    return {Kind::kEvent, std::move(name), "reset", std::move(body)};
  }

  // Writes a change with one draft and returns its record.
  Record write(const Change& change) {
    auto written = ledger().append(change);
    EXPECT_TRUE(written) << written.error().message;
    return written && written->size() == 1 ? written->front() : Record{};
  }
  std::vector<Record> all() { return read_all(ledger()); }
  // The error of append() for a change that must fail and leave the ledger unchanged.
  Error refusal(const Change& change) {
    const std::vector<Record> before = all();
    auto written = ledger().append(change);
    EXPECT_FALSE(written);
    EXPECT_EQ(all(), before);
    return written ? Error{} : written.error();
  }
  void expect_chain_holds() {
    const auto found = verify_ledger(ledger());
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->revision, ledger().revision());
  }

 private:
  std::unique_ptr<LedgerUnderTest> under_test_ = GetParam().make();
  std::unique_ptr<Ledger> ledger_ = under_test_->open();
};

class LedgerSharing : public LedgerConformance {};

// Which records are old enough to be removed, and which are not.
class LedgerPruning : public LedgerConformance {
 protected:
  static constexpr std::int64_t kDay = 86'400LL * 1'000'000;
  static constexpr std::int64_t kBefore = kNow - 90 * kDay, kOld = kBefore - 2 * kDay;

  Record write_at(std::int64_t at_us, Draft draft, std::string request_id = "") {
    Change wish = change(std::move(draft), std::move(request_id));
    wish.at_us = at_us;
    return write(wish);
  }
  std::vector<std::int64_t> revisions() {
    std::vector<std::int64_t> found;
    for (const Record& record : all()) found.push_back(record.revision);
    return found;
  }
  std::int64_t pruned() {
    const auto removed = prune(ledger(), kBefore, kNow);
    EXPECT_TRUE(removed) << removed.error().message;
    return removed.value_or(-1);
  }
};

}  // namespace sluice::ledger

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "ledger/testing/ledger_conformance.h"

namespace sluice::ledger {

// A new, empty database on a server that can be made to fail; destroyed with the object. Not thread-safe.
class LedgerServer : public LedgerUnderTest {
 public:
  virtual void crash() = 0;  // answered changes are not lost
  virtual void start() = 0;  // after a crash
  virtual void freeze() = 0;
  virtual void thaw() = 0;
};

struct LedgerServerFactory {
  std::string name;
  std::function<std::unique_ptr<LedgerServer>()> make;
};
inline void PrintTo(const LedgerServerFactory& factory, std::ostream* out) { *out << factory.name; }

// Tests of the promises of ledger.h for a server that fails: ledger_fault_conformance.cc. The test of an
// implementation instantiates them:
//
//   INSTANTIATE_TEST_SUITE_P(Redis, LedgerFaults, testing::Values(LedgerServerFactory{"redis", make}));
class LedgerFaults : public testing::TestWithParam<LedgerServerFactory> {
 protected:
  LedgerServer& server() { return *server_; }
  std::unique_ptr<Ledger> open() { return server_->open(); }

 private:
  const std::unique_ptr<LedgerServer> server_ = GetParam().make();
};

// Helpers for these and other fault tests:

inline Change sample(std::string body = "{}", std::string request_id = "") {
  return {.drafts = {{Kind::kPolicy, "p", "update", std::move(body)}},
          .actor = "test",
          .reason = "",
          .at_us = 1,
          .request_id = std::move(request_id)};
}
// Test passwords contain s3cret.
inline void expect_unavailable(const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, testing::Not(testing::HasSubstr("s3cret")));
}
// Waits for the condition, with a generous bound.
inline bool waits_until(const std::function<bool()>& true_at_last) {
  for (int i = 0; i < 60'000; ++i, usleep(1000))
    if (true_at_last()) return true;
  return false;
}
// Waits until the server is back.
inline bool recovers(Ledger& ledger) {
  return waits_until([&] { return ledger.wait(100) && ledger.revision(); });
}

}  // namespace sluice::ledger

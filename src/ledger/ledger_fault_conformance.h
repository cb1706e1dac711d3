#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "ledger/ledger_conformance.h"

namespace sluice::ledger {

// A fresh, empty database behind a server that faults can be done to; gone with the object. Not thread-safe.
class LedgerServer : public LedgerUnderTest {
 public:
  virtual void crash() = 0;  // what was answered is not lost
  virtual void start() = 0;  // after a crash
  virtual void freeze() = 0;
  virtual void thaw() = 0;
};

struct LedgerServerFactory {
  std::string name;
  std::function<std::unique_ptr<LedgerServer>()> make;
};
inline void PrintTo(const LedgerServerFactory& factory, std::ostream* out) { *out << factory.name; }

// What ledger.h promises of a server that goes away: ledger_fault_conformance.cc. A ledger's own test says:
//
//   INSTANTIATE_TEST_SUITE_P(Redis, LedgerFaults, testing::Values(LedgerServerFactory{"redis", make}));
class LedgerFaults : public testing::TestWithParam<LedgerServerFactory> {
 protected:
  LedgerServer& server() { return *server_; }
  std::unique_ptr<Ledger> open() { return server_->open(); }

 private:
  const std::unique_ptr<LedgerServer> server_ = GetParam().make();
};

// For these and other tests of faults:

inline Change sample(std::string body = "{}", std::string request_id = "") {
  return {.drafts = {{Kind::kPolicy, "p", "update", std::move(body)}},
          .actor = "test",
          .reason = "",
          .at_us = 1,
          .request_id = std::move(request_id)};
}
// Passwords of tests have s3cret in them.
inline void expect_unavailable(const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, testing::Not(testing::HasSubstr("s3cret")));
}
// Waits for it, with a generous bound.
inline bool waits_until(const std::function<bool()>& true_at_last) {
  for (int i = 0; i < 60'000; ++i, usleep(1000))
    if (true_at_last()) return true;
  return false;
}
// Whether the server comes back.
inline bool recovers(Ledger& ledger) {
  return waits_until([&] { return ledger.wait(100) && ledger.revision(); });
}

}  // namespace sluice::ledger

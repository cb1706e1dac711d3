#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "control/testing/control_node.h"
#include "ledger/testing/memory_ledger.h"

namespace sluice::control {

inline std::string policy_body(const std::string& id, const std::string& rate,
                               const std::string& tenant = "t") {
  return R"({"id":")" + id + R"(","tenant":")" + tenant + R"(","resource":"/)" + id +
         R"(","limits":[{"rate":")" + rate + R"("}]})";
}

// Two nodes on one database.
class LedgerFollowerTest : public ::testing::Test {
 protected:
  std::shared_ptr<ledger::MemoryDatabase> database = std::make_shared<ledger::MemoryDatabase>();
  ControlNode here{database}, there{database};
};

}  // namespace sluice::control

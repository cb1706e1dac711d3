#include "base/try.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/error.h"

namespace sluice {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return invalid("number", "number is odd");
  return number / 2;
}

Result<void> require_small(int number) {
  if (number > 100) return invalid("number", "number is over 100");
  return {};
}

Result<std::string> quarter(int number) {
  SLUICE_TRY(require_small(number));
  const int first = SLUICE_TRY(half(number));
  const int second = SLUICE_TRY(half(first));
  return std::to_string(second);
}

TEST(Try, GivesTheValue) { EXPECT_EQ(quarter(12), "3"); }

TEST(Try, ReturnsTheErrorOfWhicheverStepFails) {
  EXPECT_EQ(quarter(101).error().message, "number is over 100");
  EXPECT_EQ(quarter(7).error().message, "number is odd");
  EXPECT_EQ(quarter(6).error().field, "number");
}

Result<std::unique_ptr<int>> make(int number) { return std::make_unique<int>(number); }

TEST(Try, MovesWhatCannotBeCopied) {
  const auto outer = []() -> Result<int> {
    const std::unique_ptr<int> value = SLUICE_TRY(make(5));
    return *value;
  };
  EXPECT_EQ(outer(), 5);
}

}  // namespace
}  // namespace sluice

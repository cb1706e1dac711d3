// Runs every row of tests/vectors/*.vec, and random rows of tests/vectors/reference.py, against the
// steps.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "algorithm/migrate.h"
#include "algorithm/refund.h"
#include "algorithm/steps/sliding_log.h"
#include "algorithm/testing/limits.h"
#include "algorithm/testing/vector_file.h"

namespace sluice {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/vectors";

// Gives back what the row says.
void give_back(const LimitParams& kept_by, Kept& kept, const VectorRow& row) {
  Grant grant = *row.refund_of;
  if (!same_numbers(kept_by, row.limit)) grant = under_other_numbers(kept_by, row.limit, grant);
  if (kept_by.algorithm == Algorithm::kSlidingLog)
    refund(kept_by, kept.log, row.now_us, grant);
  else
    kept.state = refund(kept_by, kept.state, row.now_us, grant);
}

// Decides row after row. Stops at the first difference: the rows after it would only repeat it.
void run(const std::vector<VectorRow>& rows) {
  LimitParams kept_by;
  Kept kept;
  for (const VectorRow& row : rows) {
    SCOPED_TRACE(row.where);
    const LimitParams& limit = row.limit;
    if (row.fresh) kept = {};
    if (row.fresh || same_numbers(kept_by, limit)) kept_by = limit;
    if (row.refund_of) give_back(kept_by, kept, row);
    const OnDenial on_denial = row.refund_of ? OnDenial::kFree : row.on_denial;  // the look after a refund
    if (!same_numbers(kept_by, limit)) {
      const Touched touched = touch(kept_by, limit, kept, {row.now_us, row.cost, on_denial});
      ASSERT_EQ(touched.outcome, row.outcome);
      kept = touched.kept;
      if (touched.moved) kept_by = limit;
    } else if (limit.algorithm == Algorithm::kSlidingLog) {
      const Outcome would = sliding_log::would(limit, kept.log, row.now_us, row.cost);
      ASSERT_EQ(step(limit, kept.log, row.now_us, row.cost, on_denial), row.outcome);
      if (would.allowed || on_denial == OnDenial::kFree) {
        ASSERT_EQ(would, row.outcome) << "as it was asked before";
      }
    } else {
      const Stepped stepped = step(limit, kept.state, row.now_us, row.cost, on_denial);
      ASSERT_EQ(stepped.outcome, row.outcome);
      if (row.refund_of) {
        ASSERT_EQ(kept.state, row.state) << "a look has changed what the refund has left";
      }
      kept.state = stepped.state;
    }
    ASSERT_TRUE(same_numbers(kept_by, row.kept_by)) << "it is kept under others";
    ASSERT_EQ(kept.state, row.state);
    ASSERT_EQ(kept.log, row.log);
  }
}

class VectorFile : public testing::TestWithParam<const char*> {};

TEST_P(VectorFile, EveryRowComesOutAsWritten) {
  const std::string name = std::string(GetParam()) + ".vec";
  std::ifstream file(kFolder / name);
  ASSERT_TRUE(file) << kFolder / name;
  const std::vector<VectorRow> rows = read_vectors(file, name);
  ASSERT_GT(rows.size(), 20u);
  run(rows);
}

INSTANTIATE_TEST_SUITE_P(Vectors, VectorFile,
                         testing::Values("gcra", "token_bucket", "leaky_bucket", "fixed_window",
                                         "sliding_window", "sliding_log"),
                         [](const auto& file) { return std::string(file.param); });

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  char buffer[4096];
  while (const std::size_t size = fread(buffer, 1, sizeof buffer, pipe.get())) output.append(buffer, size);
  return output;
}

// The model in Python shares no code with the steps and knows no formula for retry, reset or remaining.
TEST(Vectors, RandomLivesOfACounterAgreeWithTheReference) {
  const std::string seed = std::to_string(seed_for_test());
  SCOPED_TRACE("SLUICE_SEED=" + seed);
  std::istringstream text(
      output_of("/usr/bin/python3 " + (kFolder / "reference.py").string() + " random " + seed + " 100"));
  const std::vector<VectorRow> rows = read_vectors(text, "random");
  ASSERT_GT(rows.size(), 1000u);
  run(rows);
}

TEST(Vectors, WhatCannotBeReadIsNamedByLine) {
  const auto error = [](const std::string& text) -> std::string {
    std::istringstream in(text);
    try {
      read_vectors(in, "x.vec");
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error("# fine\nfresh\nlimit gcra 1/1s\n0 1 | yes 0 0 1000000 | 1000000 0 0\n"), "no error");
  EXPECT_EQ(error("fresh\nlimit grca 1/1s\n"), "x.vec:2: no such algorithm");
  EXPECT_EQ(error("limit gcra 1/1parsec\n"), "x.vec:1: not a duration: 1parsec");
  EXPECT_EQ(error("limit gcra 1/1s burst 0\n").substr(0, 29), "x.vec:1: burst must be at lea");
  EXPECT_EQ(error("limit gcra 1/1s\n0 1 | maybe 0 0 0 | 0 0 0\n"), "x.vec:2: allowed must be yes or no");
  EXPECT_EQ(error("limit gcra 1/1s\n0 1 | yes 0 0 0 | 0 0\n"), "x.vec:2: the line ends too early");
  EXPECT_EQ(error("limit gcra 1/1s\n0 1 | yes 0 0 0 | 0 0 0 0\n"), "x.vec:2: unexpected 0");
  EXPECT_EQ(error("fresh\nlimit gcra 1/1s\nrefund 0 1 | yes 0 0 0 | 0 0 0\n"),
            "x.vec:3: no such row to give back");
}

}  // namespace
}  // namespace sluice

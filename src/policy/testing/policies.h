#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/testing/seed.h"
#include "policy/document/policy_document.h"
#include "policy/snapshot/snapshot.h"

// Helpers that the tests of this folder share.
namespace sluice::testing {

// The policies of a document. REQUIRES: the document is valid.
inline std::vector<Policy> policies_of(std::string_view text) {
  std::vector<WrittenPolicy> written;
  Problems problems;
  parse_policies(text, "test.yaml", written, problems);
  check_together(written, problems);
  for (const std::string& problem : problems.texts()) ADD_FAILURE() << problem;
  std::vector<Policy> policies;
  for (WrittenPolicy& each : written) policies.push_back(std::move(each.policy));
  return policies;
}

// The problems of a document, one per line.
inline std::string problems_of(std::string_view text, const std::string& file = "test.yaml") {
  std::vector<WrittenPolicy> written;
  Problems problems;
  parse_policies(text, file, written, problems);
  check_together(written, problems);
  std::string all;
  for (const std::string& problem : problems.texts()) all += problem + '\n';
  return all;
}

class EveryRollout final : public RolloutFilter {
 public:
  bool applies(const CompiledPolicy&) const override { return true; }
};

class NoRollout final : public RolloutFilter {
 public:
  bool applies(const CompiledPolicy&) const override { return false; }
};

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Starts a random test from a new seed and prints it. To repeat a run: SLUICE_SEED=17 policy_test
inline std::mt19937_64 seeded_random() {
  const std::uint64_t seed = test_seed();
  std::cout << "SLUICE_SEED=" << seed << '\n';
  return std::mt19937_64(seed);
}

}  // namespace sluice::testing

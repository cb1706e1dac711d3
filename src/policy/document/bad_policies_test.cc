// Every file in tests/bad_policies is refused for the reason that it names, and the policies in force stay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/limits.h"
#include "policy/files/policy_file_loader.h"
#include "policy/testing/policies.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using testing::contents;
using ::testing::HasSubstr;

const fs::path kCorpus = fs::path(SLUICE_SOURCE_DIR) / "tests" / "bad_policies";

std::vector<fs::path> corpus() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kCorpus))
    if (entry.path().extension() != ".expect") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// From the file's first line, `# expect: …`, or from a separate file for formats without comments.
std::string expected_text(const fs::path& path) {
  const fs::path beside = path.string() + ".expect";
  const std::string text = contents(fs::exists(beside) ? beside : path);
  const std::string line = text.substr(0, text.find('\n'));
  constexpr std::string_view kMark = "# expect: ";
  return line.starts_with(kMark) ? line.substr(kMark.size()) : line;
}

TEST(BadPolicies, EachIsRefusedForTheReasonItNames) {
  const auto files = corpus();
  ASSERT_GT(files.size(), 130u);
  for (const fs::path& file : files) {
    const std::string expected = expected_text(file);
    ASSERT_GT(expected.size(), 3u) << file;
    EXPECT_THAT(testing::problems_of(contents(file), fs::relative(file, SLUICE_SOURCE_DIR)),
                HasSubstr(expected));
  }
}

TEST(BadPolicies, NoneIsPublished) {
  ParamsTable params;
  SnapshotPublisher snapshots;
  PolicyCatalog catalog(snapshots, params);
  for (const fs::path& file : corpus()) {
    PolicyFileLoader loader({file}, catalog, {});
    EXPECT_FALSE(loader.status().loaded) << file;
    EXPECT_EQ(loader.status().failures, 1u);
    EXPECT_FALSE(loader.status().problems.empty());
  }
  EXPECT_EQ(snapshots.generation(), 0u);
}

TEST(BadPolicies, AHugeFileIsRefusedUnread) {
  for (const char* name : {"sluice_huge_policies.yaml", "sluice_huge_policies.json"}) {
    const fs::path file = fs::path(::testing::TempDir()) / name;
    std::ofstream(file) << "{\"policies\":\n";
    fs::resize_file(file, 100u << 20);
    const Problems problems = validate_policy_files({file});
    fs::remove(file);
    ASSERT_EQ(problems.list().size(), 1u);
    EXPECT_THAT(problems.list()[0].message, HasSubstr("larger than 32 MiB"));
  }
}

TEST(BadPolicies, AHugeTextIsRefusedUnread) {
  const std::string text = "{\"id\": \"" + std::string(100u << 20, 'a') + "\"}";
  Problems problems;
  EXPECT_FALSE(parse_policy(text, "body", problems));
  ASSERT_EQ(problems.list().size(), 1u);
  EXPECT_THAT(problems.list()[0].message, HasSubstr("larger than 32 MiB"));
}

// A truncated, spliced or corrupted document must be refused or accepted, but never crash; an accepted one
// compiles.
TEST(BadPolicies, MutatedDocumentsNeverCrash) {
  std::vector<std::string> seeds;
  for (const fs::path& file : corpus())
    if (fs::file_size(file) < 4096) seeds.push_back(contents(file));
  seeds.push_back(contents(fs::path(SLUICE_SOURCE_DIR) / "examples" / "policies.yaml"));
  seeds.push_back(contents(fs::path(SLUICE_SOURCE_DIR) / "examples" / "domains.json"));
  auto random = testing::seeded_random();
  const auto below = [&](std::size_t end) { return end == 0 ? 0 : random() % end; };
  constexpr std::string_view kSpice[] = {"{",
                                         "}",
                                         "[",
                                         "]",
                                         ":",
                                         "\n",
                                         "- ",
                                         "\"",
                                         "'",
                                         "&a ",
                                         "*a",
                                         "!!",
                                         "~",
                                         "|\n",
                                         ">",
                                         "? ",
                                         "#",
                                         "---\n",
                                         "...\n",
                                         "%YAML 9.9\n",
                                         "\t",
                                         "0",
                                         "-",
                                         "\\",
                                         "99999999999999999999",
                                         "\xC3",
                                         "\xEF\xBB\xBF",
                                         "<<: ",
                                         ",",
                                         "@",
                                         "`"};
  int accepted = 0;
  for (int round = 0; round < 3'000; ++round) {
    std::string text = seeds[below(seeds.size())];
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text.erase(at, below(20));
          break;
        case 1:
          text.insert(at, kSpice[below(std::size(kSpice))]);
          break;
        case 2:
          text.insert(at, text.substr(below(text.size()), below(80)));
          break;
        case 3:
          if (!text.empty()) text[at] = static_cast<char>(random());
          break;
      }
    }
    std::vector<WrittenPolicy> written;
    Problems problems;
    parse_policies(text, "mutated", written, problems);
    check_together(written, problems);
    if (!problems.empty()) continue;
    ++accepted;
    ParamsTable params;
    std::vector<Policy> policies;
    for (WrittenPolicy& each : written) policies.push_back(std::move(each.policy));
    EXPECT_TRUE(Snapshot::compile(std::move(policies), params)) << text;
  }
  EXPECT_GT(accepted, 0);  // otherwise the mutations are too coarse to reach the inner parts
}

}  // namespace
}  // namespace sluice

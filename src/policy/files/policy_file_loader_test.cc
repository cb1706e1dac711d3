#include "policy/files/policy_file_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

namespace sluice {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string policy(const std::string& id, const std::string& rate) {
  return "policies: [{id: " + id + ", tenant: " + id + ", limits: [{rate: " + rate + "}]}]\n";
}

class PolicyFileLoaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "sluice_policies_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    loader_.reset();
    fs::remove_all(directory_);
  }

  // Atomically, so that no reader sees half a file.
  void write(const std::string& name, const std::string& text) {
    write_in_place(".being-written", text);
    fs::rename(directory_ / ".being-written", directory_ / name);
  }
  void write_in_place(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
  }

  // Watches as in production, but with shorter waits.
  void start(const std::string& name = "policies.yaml",
             std::chrono::milliseconds poll_every = std::chrono::hours(1), std::size_t withdrawn_max = 100) {
    start(name, {.debounce = std::chrono::milliseconds(5), .poll_every = poll_every}, withdrawn_max);
  }
  void start(const std::string& name, FileWatcher::Options watch, std::size_t withdrawn_max = 100) {
    loader_ = std::make_unique<PolicyFileLoader>(
        std::vector<std::string>{directory_ / name}, catalog_,
        PolicyFileLoader::Options{
            .log = [this](LogEvent, std::string_view sentence) { log_.append(sentence) += '\n'; },
            .watch = watch,
            .withdrawn_max = withdrawn_max});
  }

  // "a#2 b#1": the policies in force.
  std::string in_force() {
    std::string text;
    const auto snapshot = snapshots_.current();
    std::map<std::string_view, const CompiledPolicy*> policies;
    snapshot->policies().for_each([&](const auto& each) { policies[each->name()] = each.get(); });
    for (const auto& [id, each] : policies) text += (text.empty() ? "" : " ") + each->version_text();
    return text;
  }

  // Waits until these policies are in force; the bound only ends a failing test.
  void expect_soon(const std::string& expected) {
    for (int i = 0; i < 3'000 && in_force() != expected; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(in_force(), expected);
  }
  void expect_failures_soon(std::uint64_t expected) {
    for (int i = 0; i < 3'000 && loader_->status().failures < expected; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_GE(loader_->status().failures, expected);
  }

  fs::path directory_;
  ParamsTable params_;
  SnapshotPublisher snapshots_;
  PolicyCatalog catalog_{snapshots_, params_};
  std::string log_;  // read it only before anything changes: then another thread writes it
  std::unique_ptr<PolicyFileLoader> loader_;
};

TEST_F(PolicyFileLoaderTest, LoadsWhenMade) {
  write("policies.yaml", policy("a", "1/s"));
  start();
  EXPECT_EQ(in_force(), "a#1");
  EXPECT_TRUE(loader_->status().loaded);
  EXPECT_EQ(loader_->status().reloads, 1u);
  EXPECT_TRUE(loader_->status().problems.empty());
}

TEST_F(PolicyFileLoaderTest, ABadFileAtTheStartIsAProblemAndGetsBetter) {
  start();  // no file exists
  EXPECT_FALSE(loader_->status().loaded);
  EXPECT_THAT(loader_->status().problems, Contains(HasSubstr("policies.yaml: can't be read: No such file")));
  write("policies.yaml", policy("a", "1/s"));
  expect_soon("a#1");
  EXPECT_TRUE(loader_->status().loaded);
}

TEST_F(PolicyFileLoaderTest, TellsWhatItPassesOver) {
  write("a.yaml", policy("a", "1/s"));
  start(".");
  EXPECT_THAT(log_, Not(HasSubstr("ignored files")));
  loader_.reset();
  fs::create_symlink("a.yaml", directory_ / "..data");
  for (const char* name : {"shop.conf", "b", "c.yaml.old", "d.txt", "e", "f", ".hidden"})
    write(name, "domain: d\n");
  start(".");
  EXPECT_THAT(log_,
              HasSubstr("ignored files (only *.yaml, *.yml and *.json are read): \"b\", \"c.yaml.old\", "
                        "\"d.txt\", \"e\", \"f\" and 1 more\n"));
  EXPECT_EQ(in_force(), "a#1");
}

TEST_F(PolicyFileLoaderTest, OnlyTreesOfDescriptorsMayBeDeep) {
  const std::string deep = std::string(20, '[') + std::string(20, ']');
  write("policies.yaml", "domain: d\ndescriptors: [{ key: a, metadata: { deep: " + deep + " } }]\n");
  start();
  EXPECT_TRUE(loader_->status().loaded);
  loader_.reset();
  write("policies.yaml", "policies:\n  - " + deep + "\n");
  start();
  EXPECT_THAT(loader_->status().problems,
              Contains(HasSubstr("policies.yaml:2: nesting deeper than 16 levels")));
}

TEST_F(PolicyFileLoaderTest, NoticesWritesInPlace) {
  write("policies.yaml", policy("a", "1/s"));
  start();
  write_in_place("policies.yaml", policy("a", "2/s"));
  expect_soon("a#2");
  write_in_place("policies.yaml", policy("a", "3/s"));
  expect_soon("a#3");
}

TEST_F(PolicyFileLoaderTest, NoticesReplacementByRename) {
  write("policies.yaml", policy("a", "1/s"));
  start();
  for (int i = 2; i < 5; ++i) {
    write("policies.yaml", policy("a", std::to_string(i) + "/s"));
    expect_soon("a#" + std::to_string(i));
  }
}

TEST_F(PolicyFileLoaderTest, NoticesASwappedLink) {
  write("one.txt", policy("a", "1/s"));
  write("two.txt", policy("a", "2/s"));
  fs::create_symlink("one.txt", directory_ / "policies.yaml");
  start();
  EXPECT_EQ(in_force(), "a#1");
  fs::create_symlink("two.txt", directory_ / "next");
  fs::rename(directory_ / "next", directory_ / "policies.yaml");
  expect_soon("a#2");
  write_in_place("two.txt", policy("a", "3/s"));  // the target of the link is watched now
  expect_soon("a#3");
}

// A mounted configuration: the file is a link through ..data, which is itself a link to a directory with a
// date.
TEST_F(PolicyFileLoaderTest, NoticesASwappedDirectoryBehindALink) {
  fs::create_directories(directory_ / "config" / "..one");
  fs::create_directories(directory_ / "config" / "..two");
  write("config/..one/policies.yaml", policy("a", "1/s"));
  write("config/..two/policies.yaml", policy("a", "2/s"));
  fs::create_directory_symlink("..one", directory_ / "config" / "..data");
  fs::create_symlink("..data/policies.yaml", directory_ / "config" / "policies.yaml");
  for (const char* path : {"config/policies.yaml", "config"}) {
    start(path);
    EXPECT_EQ(in_force(), "a#1");
    fs::create_directory_symlink("..two", directory_ / "config" / "..data_tmp");
    fs::rename(directory_ / "config" / "..data_tmp", directory_ / "config" / "..data");
    expect_soon("a#2");
    fs::create_directory_symlink("..one", directory_ / "config" / "..data_tmp");
    fs::rename(directory_ / "config" / "..data_tmp", directory_ / "config" / "..data");
    expect_soon("a#3");
    loader_.reset();
  }
}

TEST_F(PolicyFileLoaderTest, ADeletedFileKeepsItsPoliciesInForceUntilItReturns) {
  write("policies.yaml", policy("a", "1/s"));
  start();
  fs::remove(directory_ / "policies.yaml");
  expect_failures_soon(1);
  EXPECT_EQ(in_force(), "a#1");
  EXPECT_FALSE(loader_->status().problems.empty());
  write("policies.yaml", policy("a", "2/s"));
  expect_soon("a#2");
  EXPECT_TRUE(loader_->status().problems.empty());
}

TEST_F(PolicyFileLoaderTest, ABadFileKeepsTheLastGoodPoliciesInForce) {
  write("policies.yaml", policy("a", "1/s"));
  start();
  const std::uint64_t generation = snapshots_.generation();
  write("policies.yaml", policy("a", "fast"));
  expect_failures_soon(1);
  EXPECT_EQ(snapshots_.generation(), generation);
  EXPECT_TRUE(loader_->status().loaded);
  EXPECT_THAT(loader_->status().problems,
              Contains(HasSubstr("policies[0].limits[0].rate: \"fast\" is not a rate")));
  write("policies.yaml", policy("a", "2/s"));
  expect_soon("a#2");
  EXPECT_TRUE(loader_->status().problems.empty());
}

TEST_F(PolicyFileLoaderTest, ADirectoryIsOneWhole) {
  fs::create_directory(directory_ / "d");
  write("d/b.yaml", policy("b", "1/s"));
  write("d/a.json", policy("a", "1/s"));
  write("d/.hidden.yaml", "nonsense");
  write("d/README.md", "nonsense");
  start("d");
  EXPECT_EQ(in_force(), "a#1 b#1");
  write("d/c.yml", policy("c", "1/s"));
  expect_soon("a#1 b#1 c#1");
  write("d/b.yaml", policy("b", "2/s"));
  expect_soon("a#1 b#2 c#1");
  write("d/d.yaml", policy("a", "5/s"));  // an id that another file has: all or nothing
  expect_failures_soon(1);
  EXPECT_EQ(in_force(), "a#1 b#2 c#1");
  EXPECT_THAT(loader_->status().problems, Contains(HasSubstr("the id \"a\" is taken")));
  fs::remove(directory_ / "d" / "d.yaml");
  fs::remove(directory_ / "d" / "c.yml");
  expect_soon("a#1 b#2");
}

TEST_F(PolicyFileLoaderTest, AnEmptiedDirectoryDoesNotDropThePolicies) {
  fs::create_directory(directory_ / "d");
  write("d/a.yaml", policy("a", "1/s"));
  start("d");
  fs::remove(directory_ / "d" / "a.yaml");
  expect_failures_soon(1);
  EXPECT_EQ(in_force(), "a#1");
  EXPECT_THAT(loader_->status().problems, Contains(HasSubstr("has no policy files")));
}

TEST_F(PolicyFileLoaderTest, AVersionNumberNeverMeansTwoThings) {
  write("policies.yaml", policy("a", "1/s"));
  start();
  write("policies.yaml", "policies: []");
  loader_->reload();
  EXPECT_EQ(in_force(), "");
  write("policies.yaml", policy("a", "1/s"));
  loader_->reload();
  EXPECT_EQ(in_force(), "a#1");
  write("policies.yaml", "policies: []");
  loader_->reload();
  write("policies.yaml", policy("a", "7/s"));
  loader_->reload();
  EXPECT_EQ(in_force(), "a#2");
}

// Ids that change with every load do not accumulate; a forgotten policy that comes back has a new version.
TEST_F(PolicyFileLoaderTest, OldWithdrawnPoliciesAreForgottenAndTheirVersionsNotUsedAgain) {
  const auto load = [&](const std::string& id, const std::string& rate) {
    write("policies.yaml", policy(id, rate));
    loader_->reload();
    return in_force();
  };
  write("policies.yaml", "policies: []");
  start("policies.yaml", std::chrono::hours(1), 2);
  EXPECT_EQ(load("a", "1/s"), "a#1");
  EXPECT_EQ(load("a", "2/s"), "a#2");
  EXPECT_EQ(load("b", "1/s"), "b#1");
  EXPECT_EQ(load("c", "1/s"), "c#1");
  EXPECT_EQ(load("a", "2/s"), "a#2");  // b and c are the two that are not in force
  EXPECT_EQ(load("d", "1/s"), "d#1");  // b, the oldest of three, is forgotten
  EXPECT_EQ(load("b", "5/s"), "b#2");  // so b cannot have version 1 again; c is forgotten
  EXPECT_EQ(load("a", "3/s"), "a#3");  // still known
  EXPECT_EQ(load("c", "1/s"), "c#2");
  EXPECT_EQ(load("e", "1/s"), "e#2");  // b is forgotten once more, now with version 2
  EXPECT_EQ(load("f", "1/s"), "f#3");
}

TEST_F(PolicyFileLoaderTest, ReloadReadsNow) {
  write("policies.yaml", policy("a", "1/s"));
  start();
  write("policies.yaml", policy("a", "2/s"));
  loader_->reload();
  EXPECT_EQ(in_force(), "a#2");
  const auto before = loader_->status();
  loader_->reload();  // unchanged: still read, same version
  EXPECT_EQ(loader_->status().reloads, before.reloads + 1);
  EXPECT_EQ(in_force(), "a#2");
}

// Where the kernel reports nothing, polling finds the change. A directory that does not exist yet cannot be
// watched.
TEST_F(PolicyFileLoaderTest, LooksByItselfWhenNobodyTells) {
  start("not/yet/policies.yaml", std::chrono::milliseconds(20));
  EXPECT_FALSE(loader_->status().loaded);
  fs::create_directories(directory_ / "not" / "yet");
  write("not/yet/policies.yaml", policy("a", "1/s"));
  expect_soon("a#1");
}

// Repeats an action much faster than files become quiet. Stops at the end of its scope.
class Again {
 public:
  explicit Again(std::function<void()> what)
      : thread_([this, what = std::move(what)] {
          while (!stop_) {
            what();
            std::this_thread::sleep_for(std::chrono::microseconds(200));
          }
        }) {}
  ~Again() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(PolicyFileLoaderTest, AHalfWrittenFileTakesNoPolicyOutOfForce) {
  const auto document = [](int policies) {
    std::string text = "policies:\n";
    for (int i = 0; i < policies; ++i)
      text += "  - {id: p" + std::to_string(i) + ", tenant: t, resource: /" + std::to_string(i) +
              ", limits: [{rate: 1/s}]}\n";
    return text;
  };
  write("policies.yaml", document(3));
  // Never quiet, however long the machine delays the writer.
  start("policies.yaml", {.debounce = std::chrono::hours(1), .patience = std::chrono::milliseconds(20)});
  write_in_place("policies.yaml", document(1));
  expect_failures_soon(1);
  EXPECT_THAT(loader_->status().problems,
              Contains(HasSubstr("keep changing and do not contain p1 and 1 more")));
  EXPECT_EQ(in_force(), "p0#1 p1#1 p2#1");
  write_in_place("policies.yaml", document(4));
  expect_soon("p0#1 p1#1 p2#1 p3#1");  // no policy is missing
}

TEST_F(PolicyFileLoaderTest, AFileThatCameToRestAfterAllIsTaken) {
  write("policies.yaml", policy("a", "1/s"));
  start("policies.yaml",
        {.debounce = std::chrono::milliseconds(50), .patience = std::chrono::milliseconds(1)});
  write_in_place("policies.yaml", policy("b", "1/s"));
  expect_soon("b#1");
}

TEST_F(PolicyFileLoaderTest, LooksByItselfWhileTheWatchedFolderIsBusy) {
  fs::create_directories(directory_ / "a" / "inner");
  fs::create_directories(directory_ / "b" / "inner");
  write("a/inner/policies.yaml", policy("a", "1/s"));
  write("b/inner/policies.yaml", policy("b", "1/s"));
  start("a/inner/policies.yaml", std::chrono::milliseconds(20));
  const Again neighbour([this] { std::ofstream(directory_ / "old" / "inner" / "other") << 'x'; });
  fs::rename(directory_ / "a", directory_ / "old");
  fs::rename(directory_ / "b", directory_ / "a");
  expect_soon("b#1");
}

TEST_F(PolicyFileLoaderTest, ReadersAndReloadsDoNotDisturbEachOther) {
  write("policies.yaml", policy("a", "1/s"));
  start();
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      while (!stop) {
        const auto snapshot = snapshots_.current();
        EXPECT_NE(snapshot->find("a"), nullptr);
        EXPECT_LE(loader_->status().failures, 0u);
      }
    });
  for (int i = 2; i < 30; ++i) {
    write("policies.yaml", policy("a", std::to_string(i) + "/s"));
    loader_->reload();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(in_force(), "a#29");
}

TEST_F(PolicyFileLoaderTest, ThingsThatAreNotFilesAreRefused) {
  ASSERT_EQ(mkfifo((directory_ / "pipe.yaml").c_str(), 0600), 0);
  start("pipe.yaml");
  EXPECT_THAT(loader_->status().problems, Contains(HasSubstr("neither a regular file nor a directory")));
}

TEST_F(PolicyFileLoaderTest, ACircleOfLinksEnds) {
  fs::create_symlink("b", directory_ / "a");
  fs::create_symlink("a", directory_ / "b");
  start("a");
  EXPECT_FALSE(loader_->status().loaded);
}

}  // namespace
}  // namespace sluice

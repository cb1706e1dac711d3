#include "cli/serve_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/command.h"

namespace sluice::cli {
namespace {

class ServeOptionsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("SLUICE_LISTEN");
    std::filesystem::remove(file_);
  }
  std::string config(const std::string& text) {
    std::ofstream(file_) << text;
    return file_;
  }
  const std::string file_ = ::testing::TempDir() + "serve_options_test.yaml";
};

TEST_F(ServeOptionsTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  const std::string file = config("listen: 127.0.0.1:1\n");
  EXPECT_EQ(read_serve_options({}).listen, "127.0.0.1:8080");
  EXPECT_EQ(read_serve_options({"--config", file}).listen, "127.0.0.1:1");
  setenv("SLUICE_LISTEN", "127.0.0.1:2", 1);
  EXPECT_EQ(read_serve_options({"--config", file}).listen, "127.0.0.1:2");
  EXPECT_EQ(read_serve_options({"--config", file, "--listen", "127.0.0.1:3"}).listen, "127.0.0.1:3");
}

TEST_F(ServeOptionsTest, WhatIsWrongInTheFileIsNamedWithItsLine) {
  struct Row {
    std::string text;
    std::string expected;
  };
  for (const Row& row : {Row{"threads: 1\nlisen: x\n", ":2: unknown setting \"lisen\""},
                         {"threads: many\n", ":1: "},
                         {"threads: [1]\n", ":1: threads must be a single value"},
                         {"store: floppy\n", ":1: --store: the store URL has no scheme"},
                         {"- a\n", "setting: value"},
                         {"? [a]\n: b\n", ":1: write one `setting: value` per line"},
                         {"a: [\n", ":2: "}}) {
    try {
      read_serve_options({"--config", config(row.text)});
      ADD_FAILURE() << "accepted: " << row.text;
    } catch (const CommandError& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr(row.expected));
    }
  }
}

TEST_F(ServeOptionsTest, WrongFlagsAreRefused) {
  EXPECT_THROW(read_serve_options({"--nonsense"}), CommandError);
  EXPECT_THROW(read_serve_options({"--threads", "-1"}), CommandError);
  EXPECT_THROW(read_serve_options({"--deny-status", "200"}), CommandError);
}

}  // namespace
}  // namespace sluice::cli

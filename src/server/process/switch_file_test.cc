#include "server/process/switch_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/limits.h"
#include "ledger/testing/temp_folder.h"

namespace sluice::server {
namespace {

class SwitchFileTest : public ::testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream(path) << text; }
  // "gone", "there: text", or "" if nothing has changed.
  std::string look() {
    const auto seen = file.look();
    if (!seen) return "";
    return seen->exists ? "there: " + seen->reason : "gone";
  }

  ledger::TempFolder folder;
  const std::string path = folder.file("open");
  SwitchFile file{path};
};

TEST_F(SwitchFileTest, TellsEachChangeOnce) {
  EXPECT_EQ(look(), "") << "no file is nothing new";
  write("store is slow\n");
  EXPECT_EQ(look(), "there: store is slow");
  EXPECT_EQ(look(), "");
  write("still, and longer");
  EXPECT_EQ(look(), "there: still, and longer");
  std::filesystem::remove(path);
  EXPECT_EQ(look(), "gone");
  EXPECT_EQ(look(), "");
  write("");
  EXPECT_EQ(look(), "there: ");
}

TEST_F(SwitchFileTest, AFileThatWasThereBeforeIsNews) {
  write("x");
  EXPECT_EQ(look(), "there: x");
}

TEST_F(SwitchFileTest, TheTextIsMadeOneBoundedLine) {
  write("  two\nlines\t\x01 \xff\xc3\xbc ");
  EXPECT_EQ(look(), "there: two lines   \xc3\xbc");
  write(std::string(kReasonBytesMax - 1, 'r') + "\xc3\xbc");
  EXPECT_EQ(look(), "there: " + std::string(kReasonBytesMax - 1, 'r')) << "no half characters";
}

TEST_F(SwitchFileTest, WhatCannotBeReadIsThereAllTheSame) {
  std::filesystem::create_directory(path);
  EXPECT_EQ(look(), "there: ");
}

TEST_F(SwitchFileTest, WithoutAPathThereIsNothingToSee) {
  SwitchFile none{""};
  EXPECT_FALSE(none.has_path());
  EXPECT_FALSE(none.look());
}

}  // namespace
}  // namespace sluice::server

#include "base/secret/sealed_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sluice {
namespace {

class SealedFile : public ::testing::Test {
 protected:
  SealedFile() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-sealed-XXXXXX").string();
    folder = mkdtemp(name.data());
    path = folder + "/new/copy";
  }
  ~SealedFile() override { std::filesystem::remove_all(folder); }

  std::string bytes() const {
    std::ostringstream all;
    all << std::ifstream(path, std::ios::binary).rdbuf();
    return all.str();
  }
  void put_bytes(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  ErrorCode error(std::size_t bytes_max = 1 << 20) const {
    const auto read = read_sealed_file(path, bytes_max);
    EXPECT_FALSE(read);
    return read ? ErrorCode::kInternal : read.error().code;
  }

  std::string folder, path;
};

TEST_F(SealedFile, GivesBackWhatWasWritten) {
  EXPECT_EQ(error(), ErrorCode::kNotFound);
  ASSERT_TRUE(write_sealed_file(path, "first"));
  EXPECT_EQ(read_sealed_file(path, 1 << 20).value(), "first");
  ASSERT_TRUE(write_sealed_file(path, ""));
  EXPECT_EQ(read_sealed_file(path, 1 << 20).value(), "");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder + "/new"), {}), 1) << "nothing is left";
}

TEST_F(SealedFile, IsItsOwnersOnly) {
  ASSERT_TRUE(write_sealed_file(path, "x"));
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(SealedFile, EveryByteThatIsCutOrChangedIsNoticed) {
  ASSERT_TRUE(write_sealed_file(path, "contents"));
  const std::string good = bytes();
  for (std::size_t i = 0; i < good.size(); ++i) {
    put_bytes(good.substr(0, i));
    EXPECT_EQ(error(), ErrorCode::kFailedPrecondition) << "cut at " << i;
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    put_bytes(bad);
    EXPECT_EQ(error(), ErrorCode::kFailedPrecondition) << "changed at " << i;
  }
  put_bytes(good + "x");
  EXPECT_EQ(error(), ErrorCode::kFailedPrecondition);
}

TEST_F(SealedFile, WhatOthersMayWriteIsNotBelieved) {
  ASSERT_TRUE(write_sealed_file(path, "x"));
  ASSERT_EQ(chmod(path.c_str(), 0620), 0);
  EXPECT_EQ(error(), ErrorCode::kFailedPrecondition);
}

TEST_F(SealedFile, WhatIsTooLargeIsNotRead) {
  ASSERT_TRUE(write_sealed_file(path, std::string(1000, 'x')));
  EXPECT_EQ(error(1000), ErrorCode::kUnavailable);
}

TEST_F(SealedFile, SaysWhyItCannotBeWritten) {
  const auto written = write_sealed_file("/proc/no/such", "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(written.error().message.find("/proc/no"), std::string::npos);
}

TEST(SealedFields, ComeBackInTheirOrder) {
  std::string contents;
  for (const std::string_view field : {"one", "", "three\n"}) append_field(contents, field);
  FieldReader reader(contents);
  EXPECT_EQ(reader.next(), "one");
  EXPECT_EQ(reader.next(), "");
  EXPECT_FALSE(reader.at_end());
  EXPECT_EQ(reader.next(), "three\n");
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(FieldReader(std::string_view(contents).substr(0, 9)).next(), std::nullopt) << "cut short";
}

}  // namespace
}  // namespace sluice

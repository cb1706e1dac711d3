#include "plan/log/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "net/http/gzip.h"
#include "plan/log/log_file.h"

namespace sluice::plan {
namespace {

// The bytes of a text, a few at a time.
ReadBytes bytes_of(std::string text, std::size_t at_most = 1u << 30) {
  return [text = std::move(text), at_most,
          at = std::size_t{0}](std::span<char> room) mutable -> std::expected<std::size_t, std::string> {
    const std::size_t count = std::min({room.size(), text.size() - at, at_most});
    std::memcpy(room.data(), text.data() + at, count);
    at += count;
    return count;
  };
}

std::vector<std::string> lines_of(const std::string& text, std::size_t at_most = 1u << 30) {
  LineReader reader(bytes_of(text, at_most));
  std::vector<std::string> lines;
  while (true) {
    const auto kind = reader.next();
    if (*kind == LineReader::Kind::kEnd) return lines;
    lines.emplace_back(*kind == LineReader::Kind::kTooLong ? "(too long)" : reader.line());
  }
}

TEST(LineReader, Lines) {
  using Lines = std::vector<std::string>;
  for (const std::size_t at_most : {1, 2, 3, 1000}) {
    EXPECT_EQ(lines_of("", at_most), Lines());
    EXPECT_EQ(lines_of("\n", at_most), Lines({""}));
    EXPECT_EQ(lines_of("a\nbb\r\n\nccc", at_most), Lines({"a", "bb", "", "ccc"}));
    EXPECT_EQ(lines_of("a\nbb\n", at_most), Lines({"a", "bb"}));
  }
}

TEST(LineReader, LinesThatAreTooLongArePassedOver) {
  using Lines = std::vector<std::string>;
  const std::string longest(kLogLineBytesMax, 'x'), longer = longest + 'x',
                                                    endless(5 * kLogLineBytesMax, 'y');
  for (const std::size_t at_most : {std::size_t{70'001}, std::size_t{1} << 30}) {
    EXPECT_EQ(lines_of(longest + "\nb\n", at_most), Lines({longest, "b"}));
    EXPECT_EQ(lines_of("a\n" + longer + "\nb", at_most), Lines({"a", "(too long)", "b"}));
    EXPECT_EQ(lines_of(endless + "\nb\n" + endless, at_most), Lines({"(too long)", "b", "(too long)"}));
  }
}

TEST(LogFile, GzipIsUnpacked) {
  net::Gzip gzip;
  std::string text, packed;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i) + '\n';
  gzip.pack(text, packed);
  gzip.pack("and another\n", packed);  // a second member
  for (const std::size_t at_most : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 30}) {
    LineReader reader(unpacked(bytes_of(packed, at_most), "log"));
    for (int i = 0; i < 200'000; ++i) {
      ASSERT_EQ(reader.next(), LineReader::Kind::kLine);
      ASSERT_EQ(reader.line(), std::to_string(i));
    }
    ASSERT_EQ(reader.next(), LineReader::Kind::kLine);
    EXPECT_EQ(reader.line(), "and another");
    EXPECT_EQ(reader.next(), LineReader::Kind::kEnd);
  }
}

TEST(LogFile, DamagedGzipIsAnError) {
  net::Gzip gzip;
  std::string packed;
  gzip.pack("some text that is packed\n", packed);
  for (std::string damaged :
       {packed.substr(0, packed.size() - 3), packed + "\x1f\x8bnonsense", std::string("\x1f\x8b")}) {
    const ReadBytes read = unpacked(bytes_of(damaged), "old.gz");
    char room[1000];
    auto got = read(room);
    while (got && *got > 0) got = read(room);
    ASSERT_FALSE(got);
    EXPECT_TRUE(got.error().starts_with("old.gz: the gzip data ")) << got.error();
  }
}

TEST(LogFile, OtherBytesPassAsTheyAre) {
  for (const std::string text : {"", "\x1f", "a", "\x1fz", "plain text"}) {
    const ReadBytes read = unpacked(bytes_of(text, 1), "log");
    char room[3];
    std::string all;
    for (auto got = read(room); *got > 0; got = read(room)) all.append(room, *got);
    EXPECT_EQ(all, text);
  }
}

TEST(LogFile, WhatIsNotThereIsAnError) {
  const auto opened = open_log("no/such/file");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error(), "cannot read no/such/file: No such file or directory.");
}

class TrafficTest : public ::testing::Test {
 protected:
  static std::string event(int second, const std::string& key) {
    return R"({"at":)" + std::to_string(1000 * second) + R"(,"tenant_id":"t","resource":"/","key":")" + key +
           "\"}\n";
  }
  std::string keys() {
    std::string all;
    for (auto entry = traffic.next(); *entry; entry = traffic.next()) (all += (*entry)->request.key) += ' ';
    return all;
  }
  FieldNames names;
  RequestMaker maker = RequestMaker::make({}, names, {}).value();
  Traffic traffic{std::nullopt, names, maker};
};

TEST_F(TrafficTest, LogsAreMergedByTime) {
  traffic.add("a", bytes_of(event(1, "a1") + event(4, "a4") + event(6, "a6")));
  traffic.add("b", bytes_of(""));
  traffic.add("c", bytes_of(event(2, "c2") + event(4, "c4") + event(9, "c9") + event(9, "c9")));
  EXPECT_EQ(keys(), "a1 c2 a4 c4 a6 c9 c9 ");
  EXPECT_EQ(traffic.counts().lines, 7u);
}

TEST_F(TrafficTest, BadLinesAreCountedAndTheFirstAreKept) {
  std::string log =
      "\n# a comment\n" + event(1, "a") + "nonsense\n" + std::string(kLogLineBytesMax + 1, '{') + '\n';
  for (int i = 0; i < 10; ++i) log += "{\n";
  traffic.add("log", bytes_of(log + event(2, "b")));
  EXPECT_EQ(keys(), "a b ");
  const LogCounts& counts = traffic.counts();
  EXPECT_EQ(counts.lines, 16u);
  EXPECT_EQ(counts.blank, 2u);
  EXPECT_EQ(counts.bad, 12u);
  ASSERT_EQ(counts.first_bad.size(), kBadLinesShownMax);
  EXPECT_EQ(counts.first_bad[0].log, "log");
  EXPECT_EQ(counts.first_bad[0].number, 4u);
  EXPECT_EQ(counts.first_bad[1].reason, "longer than 1 MiB");
}

TEST_F(TrafficTest, AnErrorOfALogEndsIt) {
  traffic.add("log", [](std::span<char>) { return std::unexpected<std::string>("broken"); });
  const auto entry = traffic.next();
  ASSERT_FALSE(entry);
  EXPECT_EQ(entry.error(), "broken");
}

}  // namespace
}  // namespace sluice::plan

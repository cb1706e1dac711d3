#include "loadgen/traffic/recording.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "loadgen/traffic/check_payload.h"
#include "loadgen/traffic/schedule.h"

namespace sluice::loadgen {
namespace {

using namespace std::string_literals;

class RecordingTest : public testing::Test {
 protected:
  std::expected<Recording, std::string> read(std::string_view text, ReplayOptions options = {}) {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / test.name();
    std::ofstream(path, std::ios::binary) << text;
    options.file = path;
    auto recording = Recording::read(options);
    std::filesystem::remove(path);
    return recording;
  }
  static std::string rendered(const Payload& payload, std::uint32_t n) {
    std::string request;
    payload.render(n, request);
    return request;
  }
};

constexpr std::string_view kAccessLog =
    "10.0.0.1 - ann [10/Oct/2026:13:55:36 +0000] \"GET /a HTTP/1.1\" 200 12\n"
    "10.0.0.2 - - [10/Oct/2026:13:55:38 +0000] \"POST /b?x=1 HTTP/1.1\" 200 12\n"
    "10.0.0.3 - - [10/Oct/2026:13:55:37 +0000] \"GET /late HTTP/1.1\" 200 12\n";

TEST_F(RecordingTest, KeepsRequestIds) {
  const auto recording = read(R"({"at":1,"tenant_id":"t","resource":"/","key":"k","request_id":"r-1"})"
                              "\n");
  ASSERT_TRUE(recording) << recording.error();
  Recording::Room room;
  EXPECT_EQ(recording->request(0, room).request_id, "r-1");
  EXPECT_NE(rendered(Payload::http_recorded(*recording, "h"), 0).find(R"("request_id":"r-1")"),
            std::string::npos);
  EXPECT_NE(rendered(Payload::grpc_recorded(*recording), 0).find("\x22\x03r-1"), std::string::npos);
}

TEST_F(RecordingTest, KeepsRequestsInOrderWithTheirTimes) {
  const auto recording = read(kAccessLog, {.tenant = "shop"});
  ASSERT_TRUE(recording) << recording.error();
  ASSERT_EQ(recording->size(), 3u);
  EXPECT_EQ(recording->after_us(0), 0);
  EXPECT_EQ(recording->after_us(1), 2'000'000);
  EXPECT_EQ(recording->after_us(2), 2'000'000) << "not before the one before it";
  Recording::Room room;
  const CheckRequest first = recording->request(0, room);
  EXPECT_EQ(first.tenant, "shop");
  EXPECT_EQ(first.resource, "/a");
  EXPECT_EQ(first.key, "ann");
  EXPECT_EQ(recording->request(1, room).key, "10.0.0.2");
}

TEST_F(RecordingTest, RequestsAreRenderedForEachDoor) {
  const auto recording = read(
      R"({"at":1800000000000,"policy_id":"p","tenant_id":"t","resource":"/r","key":"a\"b","tokens":300,"dimensions":{"user":"u"}})"
      "\n");
  ASSERT_TRUE(recording) << recording.error();
  EXPECT_EQ(rendered(Payload::grpc_recorded(*recording), 0),
            "\0\0\0\0\x24\x0a\x01p\x12\x0a\x0a\x03key\x12\x03"
            "a\"b\x12\x09\x0a\x04user\x12\x01u\x18\xac\x02\x2a\x01t\x32\x02/r"s);
  const std::string http = rendered(Payload::http_recorded(*recording, "h:1"), 0);
  EXPECT_TRUE(http.ends_with(
      "\r\n\r\n"
      R"({"policy_id":"p","tenant_id":"t","resource":"/r","key":"a\"b","tokens":300,"dimensions":{"user":"u"}})"))
      << http;
}

TEST_F(RecordingTest, FieldsAreMappedAsInPlan) {
  const auto recording =
      read(R"({"time":"2026-10-10T13:55:36Z","path":"/r","ip":"1.2.3.4","org":"o","plan":"gold","n":7})"
           "\n",
           {.tenant_from = "org", .key = "ip", .cost = "n", .maps = {"plan=plan"}});
  ASSERT_TRUE(recording) << recording.error();
  Recording::Room room;
  const CheckRequest request = recording->request(0, room);
  EXPECT_EQ(request.tenant, "o");
  EXPECT_EQ(request.key, "1.2.3.4");
  EXPECT_EQ(request.cost, 7);
  const auto has = [&](std::string_view name, std::string_view value) {
    return std::ranges::any_of(request.dimensions,
                               [&](const Dimension& d) { return d.name == name && d.value == value; });
  };
  EXPECT_TRUE(has("plan", "gold") && has("ip", "1.2.3.4"));
}

TEST_F(RecordingTest, ErrorsAreSentences) {
  EXPECT_NE(read("nonsense\n").error().find("no requests found in "), std::string::npos);
  EXPECT_NE(Recording::read({.file = "/nowhere/x.log"}).error().find("/nowhere/x.log"), std::string::npos);
  EXPECT_NE(read(kAccessLog, {.maps = {"key=ip"}}).error().find("--map cannot set"), std::string::npos);
}

TEST_F(RecordingTest, ThreadsShareTheCallsAtTheirTimesDividedByTheSpeed) {
  const auto recording = read(kAccessLog);
  ASSERT_TRUE(recording) << recording.error();
  Schedule first(*recording, 4, 1'000, {.thread = 0, .threads = 2});
  Schedule second(*recording, 4, 1'000, {.thread = 1, .threads = 2});
  EXPECT_TRUE(first.open_loop());
  EXPECT_EQ(first.take(10'000'000), 1'000);
  EXPECT_EQ(second.take(10'000'000), 501'000);
  EXPECT_EQ(first.take(10'000'000), 501'000);
  EXPECT_EQ(first.next_due_us(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(second.take(10'000'000), std::nullopt);
}

}  // namespace
}  // namespace sluice::loadgen

#include "server/setup/listeners.h"

#include <gtest/gtest.h>

#include "server/command_error.h"

namespace sluice::server {
namespace {

TEST(ListenAddress, TakesHostAndPortApart) {
  EXPECT_EQ(parse_listen_address("127.0.0.1:8080").host, "127.0.0.1");
  EXPECT_EQ(parse_listen_address("127.0.0.1:8080").port, 8080);
  EXPECT_EQ(parse_listen_address("[::1]:0").host, "::1");
}

TEST(ListenAddress, RefusesWhatIsNotOneAndSaysHowToWriteIt) {
  for (const char* text : {"", "8080", ":8080", "localhost", "localhost:", "localhost:http",
                           "localhost:70000", "::1:80", "host:80x"})
    EXPECT_THROW(parse_listen_address(text), CommandError) << text;
}

TEST(ListenAddress, KnowsLoopback) {
  for (const char* text : {"127.0.0.1:1", "127.8.8.8:1", "localhost:1", "[::1]:1"})
    EXPECT_TRUE(parse_listen_address(text).is_loopback()) << text;
  for (const char* text : {"0.0.0.0:1", "192.0.2.1:1", "[::]:1", "127.example.com:1"})
    EXPECT_FALSE(parse_listen_address(text).is_loopback()) << text;
}

TEST(ListenAddress, KnowsWhichOnesWouldGetEachOthersConnections) {
  struct Row {
    const char* one;
    const char* other;
    bool overlap;
  };
  for (const Row& row : {Row{"127.0.0.1:80", "127.0.0.1:80", true},
                         {"0.0.0.0:80", "127.0.0.1:80", true},
                         {"192.0.2.1:80", "[::]:80", true},
                         {"192.0.2.1:80", "127.0.0.1:80", false},
                         {"127.0.0.1:80", "127.0.0.1:81", false},
                         {"127.0.0.1:0", "127.0.0.1:0", false}})
    EXPECT_EQ(parse_listen_address(row.one).overlaps(parse_listen_address(row.other)), row.overlap)
        << row.one << ' ' << row.other;
}

}  // namespace
}  // namespace sluice::server

#include "cli/client/server_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.h"

namespace sluice::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string authority(const std::string& text) { return parse_server_url(text).authority(); }

std::string refusal(const std::string& text) {
  try {
    return "taken as " + authority(text);
  } catch (const CommandError& error) {
    return error.what();
  }
}

TEST(ServerUrl, AUrlOrHostAndPort) {
  EXPECT_EQ(authority("http://127.0.0.1:8080"), "127.0.0.1:8080");
  EXPECT_EQ(authority("http://sluice.internal:9000/"), "sluice.internal:9000");
  EXPECT_EQ(authority("http://sluice.internal"), "sluice.internal:80");
  EXPECT_EQ(authority("localhost:8080"), "localhost:8080");
  EXPECT_EQ(authority("http://[::1]:8080"), "[::1]:8080");
  EXPECT_EQ(authority("[::1]:8080"), "[::1]:8080");
  EXPECT_EQ(parse_server_url("[::1]:8080").host, "::1");
  EXPECT_EQ(authority("https://sluice.internal"), "sluice.internal:443");
  EXPECT_EQ(authority("https://sluice.internal:8443/"), "sluice.internal:8443");
  EXPECT_TRUE(parse_server_url("https://[::1]:8443").tls);
  EXPECT_FALSE(parse_server_url("http://https:80").tls);
  EXPECT_FALSE(parse_server_url("https:8443").tls) << "a host of that name";
}

TEST(ServerUrl, SaysWhatIsWrong) {
  EXPECT_THAT(refusal("https://"), HasSubstr("is not the address of a server"));
  EXPECT_THAT(refusal("127.0.0.1"), HasSubstr("has no port"));
  EXPECT_THAT(refusal("http://h:80x"), HasSubstr("has no port"));
  EXPECT_THAT(refusal("http://h:"), HasSubstr("has no port"));
  EXPECT_THAT(refusal("::1:8080"), HasSubstr("is not the address of a server"));
  for (const char* text : {"", "http://", ":8080", "http://h/v1:80", "http://h/v1", "ftp://h:21",
                           "http://a b:80", "http://[::1]x:80", "h\r\nx: y:80"})
    EXPECT_THAT(refusal(text), HasSubstr("is not the address of a server")) << text;
  EXPECT_THAT(refusal("http://[::1:8080"), HasSubstr("no closing bracket"));
}

TEST(ServerUrl, APasswordIsNotRepeated) {
  EXPECT_THAT(refusal("http://ann:secret@h:80"), Not(HasSubstr("secret")));
  EXPECT_THAT(refusal("https://ann:secret@h"), Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace sluice::cli

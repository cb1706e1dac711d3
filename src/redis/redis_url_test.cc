#include "redis/redis_url.h"

#include <gmock/gmock.h>

namespace sluice::redis {
namespace {

TEST(RedisUrl, SaysWhereTheServerIs) {
  const struct {
    const char* url;
    Address address;
    const char* shown;
  } cases[] = {
      {"redis://10.0.0.7", {.host = "10.0.0.7"}, "redis://10.0.0.7:6379"},
      {"redis://cache:6380/2", {.host = "cache", .port = 6380, .database = 2}, "redis://cache:6380/2"},
      {"redis://[::1]:7000/", {.host = "::1", .port = 7000}, "redis://[::1]:7000"},
      {"redis://:secret@cache", {.host = "cache", .password = "secret"}, "redis://cache:6379"},
      {"redis://ann:p%40s%3As@cache",
       {.host = "cache", .user = "ann", .password = "p@s:s"},
       "redis://ann@cache:6379"},
      {"redis://:a@b@cache", {.host = "cache", .password = "a@b"}, "redis://cache:6379"},
      {"unix:///run/redis.sock", {.unix_path = "/run/redis.sock"}, "unix:///run/redis.sock"},
      {"unix://:s@/run/r.sock?db=3",
       {.unix_path = "/run/r.sock", .password = "s", .database = 3},
       "unix:///run/r.sock?db=3"},
  };
  for (const auto& c : cases) {
    const auto address = parse_redis_url(c.url);
    ASSERT_TRUE(address) << c.url << ": " << address.error().message;
    EXPECT_EQ(address->host, c.address.host) << c.url;
    EXPECT_EQ(address->port, c.address.port) << c.url;
    EXPECT_EQ(address->unix_path, c.address.unix_path) << c.url;
    EXPECT_EQ(address->user, c.address.user) << c.url;
    EXPECT_EQ(address->password, c.address.password) << c.url;
    EXPECT_EQ(address->database, c.address.database) << c.url;
    EXPECT_EQ(address->to_string(), c.shown);
  }
}

TEST(RedisUrl, RefusesWithAdvice) {
  const struct {
    const char* url;
    const char* advice;
  } cases[] = {
      {"", "the URL has no scheme"},
      {"localhost:6379", "this version connects to one server, by redis://"},
      {"rediss://cache",
       "the scheme rediss:// is not known; this version connects to one server, by redis://"},
      {"redis-sentinel://a,b/main", "the scheme redis-sentinel:// is not known"},
      {"redis://", "the host is missing"},
      {"redis://:secret@", "the host is missing"},
      {"redis://secret@cache", "write a password as redis://:password@host"},
      {"redis://cache:0", "the port must be"},
      {"redis://cache:65536", "the port must be"},
      {"redis://cache:63x", "the port must be"},
      {"redis://[::1", "must end with ]"},
      {"redis://[::1]6379", "after ] comes :port"},
      {"redis://cache/main", "the database must be a number"},
      {"redis://cache/1?tls=yes", "options after ?"},
      {"redis://:p%4@cache", "write % itself as %25"},
      {"unix://run/redis.sock", "write the whole path"},
      {"unix:///r.sock?database=1", "?db=number"},
  };
  for (const auto& c : cases) {
    const auto address = parse_redis_url(c.url);
    ASSERT_FALSE(address) << c.url;
    EXPECT_THAT(address.error().message, testing::HasSubstr(c.advice)) << c.url;
    EXPECT_THAT(address.error().message, testing::Not(testing::HasSubstr("secret")))
        << "a message shows no password";
  }
}

}  // namespace
}  // namespace sluice::redis

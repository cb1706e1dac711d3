#include "redis/url/store_url.h"

#include <gmock/gmock.h>

#include "base/limits.h"

namespace sluice::redis {
namespace {

using Kind = StoreTarget::Kind;
using testing::HasSubstr;
using testing::Not;

TEST(StoreUrl, OneServer) {
  const struct {
    const char* url;
    Address address;
    const char* shown;
  } cases[] = {
      {"redis://10.0.0.7", {.host = "10.0.0.7"}, "redis://10.0.0.7:6379"},
      {"redis://cache:6380/2", {.host = "cache", .port = 6380, .database = 2}, "redis://cache:6380/2"},
      {"redis://cache?", {.host = "cache"}, "redis://cache:6379"},
      {"redis://cache?db=2", {.host = "cache", .database = 2}, "redis://cache:6379/2"},
      {"redis://[::1]:7000/", {.host = "::1", .port = 7000}, "redis://[::1]:7000"},
      {"redis://:secret@cache", {.host = "cache", .password = "secret"}, "redis://cache:6379"},
      {"redis://ann:p%40s%3As@cache",
       {.host = "cache", .user = "ann", .password = "p@s:s"},
       "redis://ann@cache:6379"},
      {"redis://:a@b/c,d@cache", {.host = "cache", .password = "a@b/c,d"}, "redis://cache:6379"},
      {"unix:///run/redis.sock", {.unix_path = "/run/redis.sock"}, "unix:///run/redis.sock"},
      {"unix://:s@/run/r.sock?db=3",
       {.unix_path = "/run/r.sock", .password = "s", .database = 3},
       "unix:///run/r.sock?db=3"},
      {"rediss://cache", {.host = "cache", .tls = TlsSettings{}}, "rediss://cache:6379"},
      {"rediss://:secret@10.0.0.7:6380/1?ca=/etc/c%26a.pem&cert=me.pem&key=me.key&server_name=cache.internal",
       {.host = "10.0.0.7",
        .port = 6380,
        .password = "secret",
        .database = 1,
        .tls = TlsSettings{.ca_file = "/etc/c&a.pem",
                           .certificate_file = "me.pem",
                           .key_file = "me.key",
                           .server_name = "cache.internal"}},
       "rediss://10.0.0.7:6380/1"},
  };
  for (const auto& c : cases) {
    const auto target = parse_store_url(c.url);
    ASSERT_TRUE(target) << c.url << ": " << target.error().message;
    EXPECT_EQ(target->kind, Kind::kSingle) << c.url;
    EXPECT_EQ(target->to_string(), c.shown);
    ASSERT_EQ(target->addresses.size(), 1u) << c.url;
    EXPECT_TRUE(target->addresses[0] == c.address) << c.url << ": " << target->addresses[0].to_string();
  }
}

TEST(StoreUrl, SentinelsAndTheMasterTheyKnow) {
  const auto target = parse_store_url(
      "redis+sentinel://ann:secret@s1,s2:26380,[::2]/my%2Fmaster/"
      "3?sentinel_user=watch&sentinel_password=p%40w");
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->kind, Kind::kSentinel);
  EXPECT_EQ(target->master_name, "my/master");
  const Address sentinel{.host = "s1", .port = 26379, .user = "watch", .password = "p@w"};
  ASSERT_EQ(target->addresses.size(), 3u);
  EXPECT_TRUE(target->addresses[0] == sentinel);
  EXPECT_EQ(target->addresses[1].place(), "s2:26380");
  EXPECT_EQ(target->addresses[2].place(), "[::2]:26379");
  const Address master{.host = "10.0.0.9", .port = 6390, .user = "ann", .password = "secret", .database = 3};
  EXPECT_TRUE(target->server_at("10.0.0.9", 6390) == master);
  EXPECT_EQ(target->to_string(), "redis+sentinel://ann@s1:26379,s2:26380,[::2]:26379/my/master/3");
}

TEST(StoreUrl, ANameIsEnoughForSentinels) {
  const auto target = parse_store_url("rediss+sentinel://s1/main?ca=ca.pem&db=1");
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->addresses[0].tls->ca_file, "ca.pem") << "TLS is for the Sentinels, too";
  EXPECT_EQ(target->server_at("m", 1).tls->ca_file, "ca.pem");
  EXPECT_EQ(target->addresses[0].database, 0);
  EXPECT_EQ(target->login.database, 1);
  EXPECT_EQ(target->to_string(), "rediss+sentinel://s1:26379/main/1");
}

TEST(StoreUrl, NodesOfACluster) {
  const auto target =
      parse_store_url("rediss+cluster://ann:secret@n1:7000,n2:7001,n3?server_name=redis.internal");
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->kind, Kind::kCluster);
  ASSERT_EQ(target->addresses.size(), 3u);
  EXPECT_TRUE(target->addresses[1] == target->server_at("n2", 7001));
  EXPECT_EQ(target->addresses[2].port, 6379);
  EXPECT_EQ(target->addresses[0].password, "secret");
  EXPECT_EQ(target->addresses[0].tls->server_name, "redis.internal");
  EXPECT_EQ(target->to_string(), "rediss+cluster://ann@n1:7000,n2:7001,n3:6379");
  EXPECT_TRUE(parse_store_url("redis+cluster://n1/0")) << "the one database that a Cluster has";
}

TEST(StoreUrl, StatusIsReadFromReplicasOnlyWhenAsked) {
  for (const char* place : {"redis+sentinel://a/main", "rediss+cluster://a,b"}) {
    EXPECT_FALSE(parse_store_url(place)->looks_at_replicas);
    EXPECT_FALSE(parse_store_url(std::string(place) + "?read_from=master")->looks_at_replicas);
    EXPECT_TRUE(parse_store_url(std::string(place) + "?read_from=replica")->looks_at_replicas);
  }
  EXPECT_TRUE(parse_store_url("redis://a?read_from=master")) << "states the default";
}

TEST(StoreUrl, SeveralHostsAndANameAreSentinels) {
  for (const char* url : {"redis://s1,s2:26380,s3/mymaster", "redis://s1,s2:26380,s3/mymaster?db=0"})
    EXPECT_EQ(*parse_store_url(url), *parse_store_url("redis+sentinel://s1,s2:26380,s3/mymaster")) << url;
  EXPECT_EQ(*parse_store_url("rediss://u:p@s1,s2/main/3?sentinel_password=x"),
            *parse_store_url("rediss+sentinel://u:p@s1,s2/main/3?sentinel_password=x"));
  for (const char* url : {"redis://s1,s2", "redis://s1,s2/", "redis://s1,s2/2"}) {
    const auto target = parse_store_url(url);
    ASSERT_FALSE(target) << url;
    EXPECT_THAT(target.error().message, testing::HasSubstr("redis+sentinel://host,host/master"));
  }
}

TEST(StoreUrl, RefusesWithAdvice) {
  const struct {
    const char* url;
    const char* advice;
  } cases[] = {
      {"", "the store URL has no scheme; write redis://host:port, redis+sentinel://"},
      {"localhost:6379", "has no scheme"},
      {"secret:6379", "has no scheme"},
      {"valkey://cache", "unknown scheme in the store URL; write redis://"},
      {"REDIS://cache", "unknown scheme in the store URL"},
      {"redis-sentinel://a,b/main", "redis+sentinel://host:port,host:port/master"},
      {"redis://", "a host is missing"},
      {"redis://:secret@", "a host is missing"},
      {"redis://secret@cache", "user:password@ before the host, or :password@"},
      {"redis://cache:0", "a port must be a number from 1 to 65535"},
      {"redis://cache:65536", "a port must be"},
      {"redis://cache:63x", "a port must be"},
      {"redis://cache:", "a port must be"},
      {"redis://[::1", "must end with ]"},
      {"redis://[::1]6379", "after ] only :port"},
      {"redis://fe80::1:6379", "in brackets"},
      {"redis://ca che", "a host name may have at most 253 letters"},
      {"redis://cache/main", "the database must be a number"},
      {"redis://cache/65536", "the database must be a number"},
      {"redis://cache/1?db=1", "the database is given twice"},
      {"redis://cache?db=1&db=2", "the option db is given twice"},
      {"redis://cache?tls=yes", "unknown option tls; the options are ca, cert"},
      {"rediss://cache?verify=none", "unknown option verify"},
      {"rediss://cache?ca=", "the option ca has no value"},
      {"rediss://cache?ca", "the option ca has no value"},
      {"rediss://cache?ca=/a%0", "the option ca has a %"},
      {"rediss://cache?ca=/a%00b", "the option ca has a %"},
      {"rediss://cache?cert=/a", "cert and key must be given together"},
      {"rediss://cache?key=/a", "cert and key must be given together"},
      {"rediss://cache?server_name=a%20b", "a host name may have at most"},
      {"redis://cache?ca=/a", "need TLS; write rediss for redis"},
      {"unix:///r.sock?server_name=a", "need TLS"},
      {"redis://cache?sentinel_password=secret", "need redis+sentinel://"},
      {"redis://:p%4@cache", "write % itself as %25"},
      {"redis://:se?secret=1@cache", "write ? in a password as %3F"},
      {"redis://:a@b?secret@cache", "write ? in a password as %3F"},
      {"redis://a,b", "write redis+cluster://host,host or redis+sentinel://host,host/master"},
      {"unix://run/redis.sock", "use an absolute path"},
      {"unix:///r.sock?database=1", "unknown option database"},
      {"redis+cluster://", "a host is missing"},
      {"redis+cluster://a,", "a host is missing"},
      {"redis+cluster://a,,b", "a host is missing"},
      {"redis+cluster://a,b:6379,c,b", "hosts 2 and 4 of the list are the same"},
      {"redis+cluster://a,b/1", "a Cluster has only database 0"},
      {"redis+cluster://a?db=1", "a Cluster has only database 0"},
      {"redis://cache?read_from=replica", "needs redis+sentinel:// or redis+cluster://"},
      {"unix:///r.sock?read_from=replica", "needs redis+sentinel:// or redis+cluster://"},
      {"redis+cluster://a?read_from=secret", "read_from must be master or replica"},
      {"redis+sentinel://a/main?read_from=", "the option read_from has no value"},
      {"redis+cluster://u:secret@a,u:secret@b", "give user and password once"},
      {"redis+sentinel://a,b", "the master's name is missing"},
      {"redis+sentinel://a,b/", "the master's name is missing"},
      {"redis+sentinel:///main", "a host is missing"},
      {"redis+sentinel://a/ma%in", "the master's name has a %"},
      {"redis+sentinel://a/main/x", "the database must be a number"},
      {"redis+sentinel://a/main/1/2", "the database must be a number"},
      {"redis+sentinel://a/main?sentinel_user=u", "sentinel_user needs sentinel_password"},
  };
  for (const auto& c : cases) {
    const auto target = parse_store_url(c.url);
    ASSERT_FALSE(target) << c.url;
    EXPECT_EQ(target.error().field, "store");
    EXPECT_THAT(target.error().message, HasSubstr(c.advice)) << c.url;
    EXPECT_THAT(target.error().message, Not(HasSubstr("secret"))) << "a message shows no password";
  }
}

TEST(StoreUrl, HasBounds) {
  std::string nodes = "redis+cluster://n0";
  for (std::size_t i = 1; i < kRedisHostsMax; ++i) nodes += ",n" + std::to_string(i);
  EXPECT_TRUE(parse_store_url(nodes));
  EXPECT_THAT(parse_store_url(nodes + ",more").error().message, HasSubstr("more than 64 hosts"));
  EXPECT_TRUE(parse_store_url("unix:///" + std::string(kUnixPathBytesMax - 1, 'a')));
  EXPECT_THAT(parse_store_url("unix:///" + std::string(kUnixPathBytesMax, 'a')).error().message,
              HasSubstr("at most 107 bytes"));
  EXPECT_TRUE(parse_store_url("redis://" + std::string(kHostBytesMax, 'a')));
  EXPECT_FALSE(parse_store_url("redis://" + std::string(kHostBytesMax + 1, 'a')));
  EXPECT_TRUE(parse_store_url("redis+sentinel://a/" + std::string(kNameBytesMax, 'm')));
  EXPECT_FALSE(parse_store_url("redis+sentinel://a/" + std::string(kNameBytesMax + 1, 'm')));
  EXPECT_THAT(parse_store_url("redis://:" + std::string(kStoreUrlBytesMax, 'p') + "@a").error().message,
              HasSubstr("more than 8192 bytes"));
}

}  // namespace
}  // namespace sluice::redis

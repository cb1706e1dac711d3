#include "usage/target/usage_target.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::usage {
namespace {

UsageTarget good(std::string_view url) {
  auto target = parse_usage_target(url);
  EXPECT_TRUE(target) << url << ": " << target.error().message;
  return target.value_or(UsageTarget{});
}
KafkaTarget kafka(std::string_view url) { return std::get<KafkaTarget>(good(url).server); }
StreamTarget stream(std::string_view url) { return std::get<StreamTarget>(good(url).server); }

TEST(UsageTarget, ReadsATopicOfKafka) {
  const KafkaTarget plain = kafka("kafka://broker:9092/topic");
  EXPECT_EQ(plain.brokers, "broker:9092");
  EXPECT_EQ(plain.topic, "topic");
  EXPECT_FALSE(plain.tls);
  EXPECT_EQ(plain.mechanism, "");
  EXPECT_EQ(kafka("kafka://a,b:1,[::1]:2").brokers, "a:9092,b:1,[::1]:2");
  EXPECT_EQ(kafka("kafka://a").topic, "usage.events");
  EXPECT_EQ(kafka("kafka://a/").topic, "usage.events");
  EXPECT_EQ(kafka("kafka://a?compression=zstd").compression, "zstd");

  const KafkaTarget secure = kafka("kafkas://u:p%40s@a/t?sasl=SCRAM-SHA-512&ca=/ca.pem&cert=c.pem&key=k.pem");
  EXPECT_TRUE(secure.tls);
  EXPECT_EQ(secure.user, "u");
  EXPECT_EQ(secure.password, "p@s");
  EXPECT_EQ(secure.mechanism, "SCRAM-SHA-512");
  EXPECT_EQ(secure.ca_file, "/ca.pem");
  EXPECT_EQ(secure.certificate_file, "c.pem");
  EXPECT_EQ(secure.key_file, "k.pem");
  EXPECT_EQ(kafka("kafkas://u:p@a").mechanism, "PLAIN");
}

TEST(UsageTarget, ReadsAStreamOfRedis) {
  const StreamTarget plain = stream("redis://10.0.0.7");
  EXPECT_EQ(plain.stream, "usage.events");
  EXPECT_EQ(plain.length, 1'000'000);
  EXPECT_EQ(plain.server.addresses.front().host, "10.0.0.7");
  const StreamTarget named = stream("rediss://u:p@h:1/2?stream=a%2Fb&ca=/ca.pem&maxlen=0");
  EXPECT_EQ(named.stream, "a/b");
  EXPECT_EQ(named.length, 0);
  EXPECT_EQ(named.server.login.database, 2);
  EXPECT_EQ(named.server.login.tls->ca_file, "/ca.pem");
  EXPECT_EQ(stream("redis+sentinel://s1,s2/mymaster?stream=x").server.kind,
            redis::StoreTarget::Kind::kSentinel);
  EXPECT_EQ(stream("redis+cluster://n1,n2?maxlen=5").server.kind, redis::StoreTarget::Kind::kCluster);
  EXPECT_EQ(stream("unix:///run/redis.sock?stream=x&db=3").server.login.database, 3);
}

TEST(UsageTarget, SaysWhereWithoutThePassword) {
  EXPECT_EQ(good("kafkas://u:secret@a:1/t").to_string(), "kafkas://u@a:1/t");
  EXPECT_EQ(good("redis://u:secret@a:1?stream=s").to_string(), "redis://u@a:1?stream=s");
  EXPECT_EQ(good("unix:///r.sock?db=2&stream=s").to_string(), "unix:///r.sock?db=2&stream=s");
}

struct Bad {
  const char* url;
  const char* says;
};

TEST(UsageTarget, SaysWhatIsWrong) {
  constexpr Bad kBad[] = {
      {"", "no scheme"},
      {"localhost:9092", "no scheme"},
      {"kafak://a/t", "did you mean kafka://?"},
      {"reddis://a", "did you mean redis://?"},
      {"http://a", "write kafka://HOST:PORT/TOPIC"},
      {"kafka://", "a host is missing"},
      {"kafka://a:b/t", "a port must be a number"},
      {"kafka://a:0/t", "a port must be a number"},
      {"kafka://a/t/u", "a topic's name has"},
      {"kafka://a/..", "a topic's name has"},
      {"kafka://a/sp ace", "a topic's name has"},
      {"kafka://user@a/t", "write user:password@"},
      {"kafka://:password@a/t", "both user and password"},
      {"kafka://a/t?sasl=PLAIN", "sasl needs a login"},
      {"kafka://u:p@a/t?sasl=SCRAM-SHA-513", "did you mean SCRAM-SHA-512?"},
      {"kafka://a/t?compresion=lz4", "did you mean compression?"},
      {"kafka://a/t?compression=brotli", "compression must be one of"},
      {"kafka://a/t?compression=lz4&compression=lz4", "given twice"},
      {"kafka://a/t?ca=x", "write kafkas for kafka"},
      {"kafkas://a/t?cert=x", "must be given together"},
      {"kafka://a/t?compression=", "has no value"},
      {"kafka://u:pass?word@a/t", "write ? in a password as %3F"},
      {"redis://a?steam=x", "did you mean stream?"},
      {"redis://a?maxlem=1", "did you mean maxlen?"},
      {"redis://a?stream=x&stream=y", "given twice"},
      {"redis://a?maxlen=-1", "maxlen must be a number"},
      {"redis://a?maxlen=99999999999", "maxlen must be a number"},
      {"redis://a?stream=", "has no value"},
      {"redis://a,b", "several hosts"},
      {"redis+cluster://a,b?read_from=replica", "they are written"},
  };
  for (const Bad& bad : kBad) {
    const auto target = parse_usage_target(bad.url);
    ASSERT_FALSE(target) << bad.url;
    EXPECT_TRUE(target.error().message.contains(bad.says)) << bad.url << ": " << target.error().message;
  }
}

TEST(UsageTarget, NeverRepeatsAPassword) {
  for (const char* url : {"kafka://u:hunter2@a/t?x=1", "kafka://u:hunter2@a:b/t", "kafka://hunter2@a/t",
                          "kafka://u:hunter2?@a/t", "redis://u:hunter2@a?steam=1", "redis://u:hunter2@a:b",
                          "hunter2", "hunter2://a", "redis://u:p@a?stream=hunter2&maxlen=x"}) {
    const auto target = parse_usage_target(url);
    ASSERT_FALSE(target) << url;
    EXPECT_FALSE(target.error().message.contains("hunter2")) << target.error().message;
  }
}

}  // namespace
}  // namespace sluice::usage

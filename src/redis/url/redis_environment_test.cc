#include "redis/url/redis_environment.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

namespace sluice::redis {
namespace {

using testing::HasSubstr;
using testing::Not;
using Variables = std::map<std::string, std::string>;

Result<std::optional<RedisEnvironment>> read(const Variables& variables) {
  return read_redis_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(RedisEnvironment, IsTheClusterThatTheVariablesDescribe) {
  const struct {
    Variables variables;
    const char* shown;
    const char* password;
    int connections_max;
  } cases[] = {
      {{{"REDIS_CLUSTER_URL", "n1:7000"}}, "redis+cluster://n1:7000", "", 0},
      {{{"REDIS_CLUSTER_URL", "redis://n1:7000, n2:7001/ ,redis://n3/0"}},
       "redis+cluster://n1:7000,n2:7001,n3:6379",
       "",
       0},
      {{{"REDIS_CLUSTER_URL", "n1,n2"}, {"REDIS_USE_TLS", "1"}}, "rediss+cluster://n1:6379,n2:6379", "", 0},
      {{{"REDIS_CLUSTER_URL", "rediss://n1,n2"}}, "rediss+cluster://n1:6379,n2:6379", "", 0},
      {{{"REDIS_CLUSTER_URL", "rediss://n1"}, {"REDIS_USE_TLS", "true"}}, "rediss+cluster://n1:6379", "", 0},
      {{{"REDIS_CLUSTER_URL", "redis://n1"}, {"REDIS_USE_TLS", "false"}}, "redis+cluster://n1:6379", "", 0},
      {{{"REDIS_CLUSTER_URL", "n1"},
        {"REDIS_USE_TLS", "0"},
        {"REDIS_CLUSTER_USERNAME", "ann"},
        {"REDIS_CLUSTER_PASSWORD", "p@s:s/%?,"},
        {"REDIS_MAX_CONN", "10000"}},
       "redis+cluster://ann@n1:6379",
       "p@s:s/%?,",
       10000},
      {{{"REDIS_CLUSTER_URL", "n1"}, {"REDIS_CLUSTER_PASSWORD", "s"}, {"REDIS_MAX_CONN", "1"}},
       "redis+cluster://n1:6379",
       "s",
       1},
      {{{"REDIS_CLUSTER_URL", "redis://ann:s%40@n1,redis://n2"}},
       "redis+cluster://ann@n1:6379,n2:6379",
       "s@",
       0},
      {{{"REDIS_CLUSTER_URL", "redis://ann:s@n1,redis://ann:s@n2"}, {"REDIS_CLUSTER_PASSWORD", ""}},
       "redis+cluster://ann@n1:6379,n2:6379",
       "s",
       0},
  };
  for (const auto& c : cases) {
    const auto environment = read(c.variables);
    ASSERT_TRUE(environment) << c.shown << ": " << environment.error().message;
    ASSERT_TRUE(*environment) << c.shown;
    const StoreTarget& target = (*environment)->target;
    EXPECT_EQ(target.kind, StoreTarget::Kind::kCluster);
    EXPECT_EQ(target.to_string(), c.shown);
    EXPECT_EQ(target.login.password, c.password) << c.shown;
    EXPECT_EQ((*environment)->connections_max.value_or(0), c.connections_max) << c.shown;
  }
}

TEST(RedisEnvironment, OptionsFollowTheLastNode) {
  const auto environment = read({{"REDIS_CLUSTER_URL", "rediss://n1,rediss://n2?ca=/etc/a,b.pem"}});
  ASSERT_TRUE(environment) << environment.error().message;
  EXPECT_EQ((*environment)->target.addresses[0].tls->ca_file, "/etc/a,b.pem");
}

TEST(RedisEnvironment, IsNothingWhenNothingIsSet) {
  for (const Variables& variables :
       {Variables{}, Variables{{"REDIS_CLUSTER_URL", ""}, {"REDIS_MAX_CONN", ""}}}) {
    const auto environment = read(variables);
    ASSERT_TRUE(environment);
    EXPECT_FALSE(*environment);
  }
}

TEST(RedisEnvironment, RefusesWithAdvice) {
  const struct {
    Variables variables;
    const char* problem;  // the variable, and the beginning of the sentence about it
  } cases[] = {
      {{{"REDIS_CLUSTER_PASSWORD", "secret"}},
       "REDIS_CLUSTER_PASSWORD: it is set but REDIS_CLUSTER_URL is not"},
      {{{"REDIS_CLUSTER_USERNAME", "ann"}}, "REDIS_CLUSTER_USERNAME: it is set but REDIS_CLUSTER_URL is not"},
      {{{"REDIS_USE_TLS", "1"}}, "REDIS_USE_TLS: it is set but"},
      {{{"REDIS_MAX_CONN", "5"}}, "REDIS_MAX_CONN: it is set but"},
      {{{"REDIS_CLUSTER_URL", "n1"}, {"REDIS_USE_TLS", "yes"}},
       "REDIS_USE_TLS: it must be true, false, 1 or 0"},
      {{{"REDIS_CLUSTER_URL", "redis://n1"}, {"REDIS_USE_TLS", "1"}},
       "REDIS_USE_TLS: it enables TLS, but REDIS_CLUSTER_URL has redis://"},
      {{{"REDIS_CLUSTER_URL", "rediss://n1"}, {"REDIS_USE_TLS", "false"}},
       "REDIS_USE_TLS: it disables TLS, but REDIS_CLUSTER_URL has rediss://"},
      {{{"REDIS_CLUSTER_URL", "n1"}, {"REDIS_CLUSTER_USERNAME", "ann"}},
       "REDIS_CLUSTER_USERNAME: it needs REDIS_CLUSTER_PASSWORD"},
      {{{"REDIS_CLUSTER_URL", "redis://:secret@n1"}, {"REDIS_CLUSTER_PASSWORD", "secret"}},
       "REDIS_CLUSTER_PASSWORD: REDIS_CLUSTER_URL already has a user or password"},
      {{{"REDIS_CLUSTER_URL", "n1"}, {"REDIS_MAX_CONN", "many"}},
       "REDIS_MAX_CONN: it must be a number from 1 to 10000"},
      {{{"REDIS_CLUSTER_URL", "n1"}, {"REDIS_MAX_CONN", "0"}}, "REDIS_MAX_CONN: it must be"},
      {{{"REDIS_CLUSTER_URL", "n1"}, {"REDIS_MAX_CONN", "10001"}}, "REDIS_MAX_CONN: it must be"},
      {{{"REDIS_CLUSTER_URL", "n1"}, {"REDIS_MAX_CONN", "-1"}}, "REDIS_MAX_CONN: it must be"},
      {{{"REDIS_CLUSTER_URL", "n1"}, {"REDIS_MAX_CONN", "5 "}}, "REDIS_MAX_CONN: it must be"},
      {{{"REDIS_CLUSTER_URL", "n1,"}}, "REDIS_CLUSTER_URL: the list has an empty entry"},
      {{{"REDIS_CLUSTER_URL", " "}}, "REDIS_CLUSTER_URL: the list has an empty entry"},
      {{{"REDIS_CLUSTER_URL", "n1:x"}}, "REDIS_CLUSTER_URL: a port must be a number"},
      {{{"REDIS_CLUSTER_URL", "n1,redis://n1:6379"}},
       "REDIS_CLUSTER_URL: hosts 1 and 2 of the list are the same"},
      {{{"REDIS_CLUSTER_URL", "redis://n1,rediss://n2"}},
       "REDIS_CLUSTER_URL: the nodes must be all redis://"},
      {{{"REDIS_CLUSTER_URL", "redis+sentinel://s1/main"}},
       "REDIS_CLUSTER_URL: each node must be redis://host:port"},
      {{{"REDIS_CLUSTER_URL", "n1/2"}}, "REDIS_CLUSTER_URL: a Cluster has only database 0"},
      {{{"REDIS_CLUSTER_URL", "n1?ca=/a"}}, "REDIS_CLUSTER_URL: ca, cert, key and server_name need TLS"},
      {{{"REDIS_CLUSTER_URL", "redis://a:secret@n1,redis://b:secret@n2"}},
       "REDIS_CLUSTER_URL: the nodes must have the same user and password"},
      {{{"REDIS_CLUSTER_URL", "redis://:secret,secret@n1"}},
       "REDIS_CLUSTER_URL: write user:password@ before"},
  };
  for (const auto& c : cases) {
    const auto environment = read(c.variables);
    ASSERT_FALSE(environment) << c.problem;
    const Error& error = environment.error();
    EXPECT_THAT(error.field + ": " + error.message, testing::StartsWith(c.problem));
    EXPECT_THAT(error.message, Not(HasSubstr("secret"))) << "a message shows no password";
  }
}

}  // namespace
}  // namespace sluice::redis

#include "redis/protocol/server_error.h"

#include <gtest/gtest.h>

namespace sluice::redis {
namespace {

TEST(ServerError, IsRecognisedAsServersWordIt) {
  const struct {
    const char* reply;
    const char* label;
    bool new_connection;
  } cases[] = {
      {"NOSCRIPT No matching script. Please use EVAL.", "noscript", false},
      {"LOADING Redis is loading the dataset in memory", "loading", false},
      {"BUSY Redis is busy running a script.", "busy", false},
      {"OOM command not allowed when used memory > 'maxmemory'. script: 5ba1, on @user_script:1.", "oom",
       false},
      {"ERR Error running script (call to f_5ba1): @user_script:1: -OOM command not allowed", "oom", false},
      {"READONLY You can't write against a read only replica.", "readonly", true},
      {"MISCONF Redis is configured to save RDB snapshots", "misconf", false},
      {"NOAUTH Authentication required.", "noauth", true},
      {"WRONGPASS invalid username-password pair", "noauth", true},
      {"NOPERM this user has no permissions to run the 'evalsha' command", "noperm", true},
      {"ERR The user executing the script can't run this command or subcommand script: 5ba1, on "
       "@user_script:1.",
       "noperm", true},
      {"ERR Error running script (call to f_5ba1): @user_script:13: @user_script: 13: The user executing the "
       "script can't run this command or subcommand",
       "noperm", true},
      {"NOPERM ACL failure in script: User sluice has no permissions to run the 'time' command", "noperm",
       true},
      {"ERR max number of clients reached", "maxclients", true},
      {"MOVED 3999 127.0.0.1:6381", "moved", false},
      {"ASK 3999 127.0.0.1:6381", "ask", false},
      {"TRYAGAIN Multiple keys request during rehashing of slot", "tryagain", false},
      {"CLUSTERDOWN The cluster is down", "clusterdown", false},
      {"CLUSTERDOWN Hash slot not served", "slotnotserved", false},
      {"STOREFULL 1 2;3", "storefull", false},
      {"CROSSSLOT Keys in request don't hash to the same slot", "crossslot", false},
      {"BUSYGROUP Consumer Group name already exists", "other", false},
      {"ERR unknown command", "other", false},
      {"", "other", false},
  };
  for (const auto& c : cases) {
    const ServerErrorAdvice& advice = explain_server_error(c.reply);
    EXPECT_EQ(advice.label, c.label) << c.reply;
    EXPECT_EQ(advice.new_connection, c.new_connection) << c.reply;
    EXPECT_EQ(label_of(advice.kind), c.label) << c.reply;
  }
}

TEST(ServerError, TellsWhatAUserOfTheScriptLacks) {
  EXPECT_TRUE(explain_server_error("ERR The user executing the script can't run this command or subcommand")
                  .meaning.contains("lacks a right that the script needs (+time, +mget, +set and +del"));
}

}  // namespace
}  // namespace sluice::redis

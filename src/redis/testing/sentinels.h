#pragma once

#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "redis/testing/redis_server.h"

namespace sluice {

// A real Sentinel, for tests. The destructor stops it. Not thread-safe.
class TestSentinel : public TestRedisServer {
 public:
  // `lines` are added to its configuration. Returns when it answers.
  void start(const std::string& lines) {
    const std::string file = directory() + "/sentinel.conf";
    std::ofstream(file) << "port " << port() << "\nbind 127.0.0.1\ndir " << directory() << "\nlogfile "
                        << directory() << "/log\n"
                        << lines;
    launch({kProgram, file, "--sentinel"});
  }

  // Its run id, derived from its port.
  std::string id() const { return std::string(35, 'a') + std::to_string(100'000 - port()).substr(0, 5); }
};

// A master and its replica, `one` and `two`, and three Sentinels that watch "mymaster" with short timeouts.
// They know each other from the start, so that no test has to wait for it. Not thread-safe.
class TestSentinels {
 public:
  void start() {
    one.start();
    two.start();
    for (TestSentinel& sentinel : sentinels) sentinel.start(configuration_of(sentinel));
  }

  // Promotes the replica. The Sentinels refuse until they have looked at it.
  void fail_over(const TestSentinel& by) const {
    for (int i = 0; i < 1000 && by.ask({"SENTINEL", "FAILOVER", "mymaster"}) != "OK"; ++i) usleep(10'000);
  }
  // Whether all of them have looked at the replica and would promote it.
  bool ready_to_fail_over() const {
    for (const TestSentinel& sentinel : sentinels) {
      const std::string state = sentinel.ask({"INFO", "sentinel"});
      if (!state.contains("status=ok") || !state.contains("slaves=1") || !state.contains("sentinels=3"))
        return false;
      if (!sentinel.ask({"SENTINEL", "CKQUORUM", "mymaster"}).starts_with("OK 3")) return false;
    }
    return two.ask({"INFO", "replication"}).contains("master_link_status:up");
  }

  TestRedisServer one{{"--repl-diskless-sync-delay", "0"}};
  TestRedisServer two{{"--replicaof", "127.0.0.1", std::to_string(one.port())}};
  std::array<TestSentinel, 3> sentinels;

 private:
  std::string configuration_of(const TestSentinel& self) const {
    std::string lines = "sentinel myid " + self.id() + "\nsentinel monitor mymaster 127.0.0.1 " +
                        std::to_string(one.port()) +
                        " 2\nsentinel down-after-milliseconds mymaster 500\n"
                        "sentinel failover-timeout mymaster 3000\n"
                        "sentinel known-replica mymaster 127.0.0.1 " +
                        std::to_string(two.port()) + "\n";
    for (const TestSentinel& other : sentinels) {
      if (&other == &self) continue;
      lines += "sentinel known-sentinel mymaster 127.0.0.1 " + std::to_string(other.port()) + " " +
               other.id() + "\n";
    }
    return lines;
  }
};

}  // namespace sluice

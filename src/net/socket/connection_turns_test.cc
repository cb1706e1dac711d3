#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/clock.h"
#include "net/socket/connection.h"
#include "net/testing/application.h"

namespace sluice::net {
namespace {

// Connections of one loop. The test is the other end, and runs the loop's turns.
class ConnectionTurnsTest : public testing::Test {
 protected:
  ~ConnectionTurnsTest() override {
    for (const int fd : clients_) close(fd);
  }
  int connect() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    connections_.add(ends[1], kTestPeer);
    clients_.push_back(ends[0]);
    return ends[0];
  }
  static void post(int fd, const std::string& path, std::size_t bytes) {
    const std::string request = "POST " + path +
                                " HTTP/1.1\r\nhost: h\r\ncontent-length: " + std::to_string(bytes) +
                                "\r\n\r\n" + std::string(bytes, 'x');
    EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  }
  // What was requested in one turn, before and after the large connections.
  std::vector<std::string> turn() {
    application_.requests.clear();
    loop_.wait(0);
    loop_.dispatch();
    if (connections_.has_large()) {
      application_.requests.emplace_back("then");
      connections_.read_large();
    }
    connections_.flush();
    return application_.requests;
  }

  static constexpr std::size_t kMuch = 40'000;
  ManualClock clock_{784'111'777'000'000};
  TestApplication application_;
  SessionContext context_{application_, clock_};
  EventLoop loop_;
  BufferBudget budget_{64u << 20, 1};
  ConnectionSet connections_{loop_, context_, budget_};
  std::vector<int> clients_;
};

TEST_F(ConnectionTurnsTest, WhoBringsMuchGoesAfterTheOthersAndOneAtATime) {
  const int a = connect(), b = connect(), small = connect();
  post(a, "/a", kMuch);
  post(b, "/b", kMuch);
  EXPECT_EQ(turn().size(), 2u) << "nobody knows yet";
  for (const int round : {1, 2}) {
    post(a, "/a", kMuch);
    post(b, "/b", kMuch);
    post(small, "/small", 10);
    EXPECT_EQ(turn(), (std::vector<std::string>{"POST /small", "then", "POST /a"})) << round;
    post(a, "/a", kMuch);
    EXPECT_EQ(turn(), (std::vector<std::string>{"then", "POST /b"})) << "in turn";
    EXPECT_EQ(turn(), (std::vector<std::string>{"then", "POST /a"}));
    EXPECT_TRUE(turn().empty());
  }
}

TEST_F(ConnectionTurnsTest, OneThatGoesWhileItWaitsIsForgotten) {
  const int a = connect(), b = connect();
  for (const int fd : {a, b}) post(fd, "/", kMuch);
  turn();
  for (const int fd : {a, b}) post(fd, "/", kMuch);
  loop_.wait(0);
  loop_.dispatch();
  ASSERT_TRUE(connections_.has_large());
  connections_.drain();  // reads and answers both, and ends
  EXPECT_EQ(application_.requests.size(), 4u);
  while (connections_.has_large()) connections_.read_large();
  clock_.advance(10'000'000);
  context_.refresh_time();
  connections_.tick();
  EXPECT_EQ(connections_.size(), 0u);
  EXPECT_FALSE(connections_.has_large());
}

}  // namespace
}  // namespace sluice::net

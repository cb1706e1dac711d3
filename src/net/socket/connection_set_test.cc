// Which connections are closed when memory or room for connections runs out.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "base/testing/seed.h"
#include "net/socket/connection.h"
#include "net/testing/application.h"

namespace sluice::net {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t kBudget = 256u << 10;
constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kLater = "GET /later HTTP/1.1\r\nHost: x\r\n\r\n";

// The other end of a connection.
class Client {
 public:
  explicit Client(int fd) : fd_(fd) {}
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view bytes) const { ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // What has arrived, and whether the server has closed the connection after it.
  std::string heard() {
    char bytes[16'384];
    for (ssize_t n; (n = recv(fd_, bytes, sizeof(bytes), 0)) >= 0;) {
      if (n == 0) {
        gone_ = true;
        break;
      }
      heard_.append(bytes, static_cast<std::size_t>(n));
    }
    return heard_;
  }
  bool gone() { return heard(), gone_; }

 private:
  const int fd_;
  std::string heard_;
  bool gone_ = false;
};

class ConnectionSetTest : public testing::Test {
 protected:
  // The time that passes afterwards makes a difference between two that connect in turn.
  std::unique_ptr<Client> connect(bool is_stranger = false, Port port = Port::kAll,
                                  std::int64_t passes_us = 1'000'000) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    set_.add(ends[0], {.address = "127.0.0.1", .port = port, .names = {}, .is_stranger = is_stranger});
    clock_.advance(passes_us);
    context_.refresh_time();
    return std::make_unique<Client>(ends[1]);
  }
  std::unique_ptr<Client> connect_and_say(std::string_view words, bool is_stranger = false) {
    auto client = connect(is_stranger);
    client->send(words);
    turn();
    return client;
  }
  void turn() {
    for (int i = 0; i < 20; ++i) {
      if (loop_.wait(0) == 0 && !set_.has_ready()) return;
      loop_.dispatch();
      if (set_.has_large()) set_.read_large();
      set_.flush();
      set_.relieve();
    }
  }
  void answer_all() {
    for (const auto& later : std::exchange(application_.http_later, {})) later(HttpResponse());
    for (const auto& later : std::exchange(application_.redis_later, {})) later("+late\r\n");
  }
  // Sends this many bytes of an incomplete body.
  std::unique_ptr<Client> hold(std::size_t bytes, bool is_stranger = false) {
    auto client =
        connect_and_say("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", is_stranger);
    for (std::size_t sent = 0; sent < bytes; sent += 10'000) {
      client->send(std::string(std::min<std::size_t>(10'000, bytes - sent), 'x'));
      turn();
    }
    return client;
  }

  ManualClock clock_{784'111'777'000'000};
  TestApplication application_;
  SessionContext context_{application_, clock_};
  EventLoop loop_;
  BufferBudget budget_{kBudget, 1};
  ConnectionSet set_{loop_, context_, budget_};
};

TEST_F(ConnectionSetTest, each_connection_has_a_number_of_its_own) {
  constexpr std::string_view kId = "GET /id HTTP/1.1\r\nHost: x\r\n\r\n";
  const auto first = connect_and_say(kId), second = connect_and_say(kId);
  EXPECT_THAT(first->heard(), testing::EndsWith("\r\n\r\n1"));
  EXPECT_THAT(second->heard(), testing::EndsWith("\r\n\r\n2"));
}

TEST_F(ConnectionSetTest, memory_is_given_as_bytes_arrive) {
  const auto client = connect_and_say("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc");
  EXPECT_GT(budget_.bytes(BufferBudget::Pool::kAll), 0u);
  EXPECT_LT(budget_.bytes(BufferBudget::Pool::kAll), 1000u);
}

TEST_F(ConnectionSetTest, the_largest_holder_of_memory_goes_first) {
  const auto small = hold(20'000), large = hold(120'000), medium = hold(60'000);
  EXPECT_FALSE(large->gone());
  const auto last = hold(120'000);
  EXPECT_THAT(large->heard(), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(large->heard(), HasSubstr("\r\nretry-after: 1\r\n"));
  EXPECT_TRUE(large->gone());
  EXPECT_EQ(small->heard() + medium->heard(), "");
  EXPECT_LE(budget_.bytes(BufferBudget::Pool::kAll), kBudget);
  EXPECT_EQ(set_.shed_for_memory(), 1u);
}

TEST_F(ConnectionSetTest, strangers_share_a_quarter) {
  const auto known = hold(100'000);
  std::vector<std::unique_ptr<Client>> strangers;
  for (int i = 0; i < 10; ++i) strangers.push_back(hold(20'000, true));
  EXPECT_LE(budget_.bytes(BufferBudget::Pool::kStrangers), kBudget / 4);
  int shed = 0;
  for (const auto& stranger : strangers) shed += stranger->heard().starts_with("HTTP/1.1 503 ");
  EXPECT_GT(shed, 0);
  EXPECT_EQ(set_.shed_for_memory(), static_cast<std::uint64_t>(shed));
  EXPECT_EQ(known->heard(), "");
}

TEST_F(ConnectionSetTest, who_was_recognised_is_no_stranger_any_more) {
  application_.recognises = true;
  const auto client = connect_and_say(kGet, true);
  client->send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + std::string(80'000, 'x'));
  turn();
  EXPECT_GT(budget_.bytes(BufferBudget::Pool::kAll), 80'000u);
  EXPECT_EQ(budget_.bytes(BufferBudget::Pool::kStrangers), 0u);
}

TEST_F(ConnectionSetTest, who_does_not_read_its_answers_is_closed) {
  const auto client = connect();
  for (int i = 0; i < 3; ++i) client->send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  turn();
  EXPECT_EQ(set_.size(), 0u);
  EXPECT_EQ(budget_.bytes(BufferBudget::Pool::kAll), 0u);
}

// It waits for the answers to its earlier requests.
TEST_F(ConnectionSetTest, who_has_said_goodbye_is_shed_too) {
  const auto leaving = connect(false, Port::kRedis), staying = connect(false, Port::kRedis);
  for (int i = 0; i < 15; ++i) {
    leaving->send("later " + std::string(10'000, 'x') + "\r\n");
    turn();
  }
  leaving->send("quit now\r\n");
  turn();
  for (int i = 0; i < 12; ++i) {
    staying->send("later " + std::string(10'000, 'x') + "\r\n");
    turn();
  }
  EXPECT_TRUE(leaving->gone());
  EXPECT_FALSE(staying->gone());
  EXPECT_EQ(set_.shed_for_memory(), 1u);
}

TEST_F(ConnectionSetTest, who_says_goodbye_with_the_byte_that_is_too_much_is_shed_and_the_loop_goes_on) {
  const auto leaving = connect(false, Port::kRedis);
  const std::string waits = "later " + std::string(10'000, 'x') + "\r\n";
  for (std::size_t i = 0; i + 1 < kBudget / 10'000; ++i) {
    leaving->send(waits);
    turn();
  }
  EXPECT_EQ(set_.shed_for_memory(), 0u);
  leaving->send(waits + waits + "quit now\r\n");
  turn();
  EXPECT_TRUE(leaving->gone());
  EXPECT_EQ(set_.shed_for_memory(), 1u);
}

TEST_F(ConnectionSetTest, new_clients_take_the_place_of_those_who_are_missed_least) {
  const std::string get(kGet), half = "GET /x HT", preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  enum Token { kNone, kNeeded, kShown };
  const struct {
    std::size_t rank;  // lower ones go first
    const char* what;
    std::string words;
    Token token;
    bool is_new;  // younger than a second
  } rows[] = {
      {6, "waits for its answer", std::string(kLater), kNeeded, false},
      {5, "half of a later request", get + half, kNone, false},
      {4, "idle", get, kNone, false},
      {4, "idle, with a token", get, kShown, false},
      {2, "without a token", get, kNeeded, false},
      {2, "half of a first request", half, kNone, false},
      {2, "half of a first request, needs a token", half, kNeeded, false},
      {2, "an HTTP/2 preface and no request", preface, kNone, false},
      {1, "silent", "", kNone, false},
      {1, "silent, needs a token", "", kNeeded, false},
      {6, "new, waits for its answer", std::string(kLater), kNone, true},
      {4, "new, but served", get, kNone, true},
      {3, "new, half of a first request", half, kNone, true},
      {3, "new, half of a first request, needs a token", half, kNeeded, true},
      {3, "new, an HTTP/2 preface and no request", preface, kNeeded, true},
      {3, "new and silent", "", kNone, true},
      {3, "new and silent, needs a token", "", kNeeded, true},
      {2, "new, without a token", get, kNeeded, true},
  };
  std::vector<std::unique_ptr<Client>> clients;
  for (const auto& row : rows) {
    application_.recognises = row.token == kShown;
    clients.push_back(connect(row.token != kNone, Port::kAll, row.is_new ? 1 : 1'000'000));
    clients.back()->send(row.words);
    turn();
  }
  std::vector<std::size_t> order;
  std::string went;
  for (std::vector<bool> known(clients.size()); set_.make_room(std::nullopt);) {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (known[i] || !clients[i]->gone()) continue;
      known[i] = true;
      order.push_back(rows[i].rank);
      went.append(rows[i].what).append("\n");
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(order)) << went;
  EXPECT_EQ(order.size(), std::size(rows) - 2) << "whoever waits for an answer gets it";
  EXPECT_EQ(set_.shed_for_room(), order.size());
  EXPECT_FALSE(clients.front()->gone());
}

TEST_F(ConnectionSetTest, among_equals_the_one_that_was_silent_longest_goes) {
  const auto first = connect(true, Port::kAll, 1), second = connect(true, Port::kAll, 1);
  const auto idle_for_long = connect_and_say(kGet), idle = connect_and_say(kGet);
  for (Client* next : {first.get(), second.get(), idle_for_long.get(), idle.get()}) {
    EXPECT_FALSE(next->gone());
    EXPECT_TRUE(set_.make_room(std::nullopt));
    EXPECT_TRUE(next->gone());
  }
}

TEST_F(ConnectionSetTest, a_port_makes_room_for_itself) {
  const auto idle = connect_and_say(kGet);
  const auto admin = connect(false, Port::kAdmin);
  admin->send(kGet);
  turn();
  EXPECT_EQ(set_.size(Port::kAdmin), 1u);
  EXPECT_TRUE(set_.make_room(Port::kAdmin));
  EXPECT_TRUE(admin->gone());
  EXPECT_FALSE(set_.make_room(Port::kAdmin));
  EXPECT_FALSE(idle->gone());
  EXPECT_EQ(set_.size(Port::kAdmin), 0u);
}

// Whatever clients do, in whatever order, the account is empty when they are closed.
TEST_F(ConnectionSetTest, the_account_returns_to_zero) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<std::string> words = {
      std::string(kGet),
      std::string(kLater),
      "GET /big HTTP/1.1\r\nHost: x\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 30000\r\n\r\n",
      std::string(10'000, 'x'),
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4e20\r\n",
      "\r\n0\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(9, '\0').replace(3, 1, "\4"),
      "GET /x HT",
      "later " + std::string(5'000, 'x') + "\r\n",
      "quit x\r\n",
  };
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 3'000; ++i) {
    const std::size_t at = clients.empty() ? 0 : random() % clients.size();
    switch (random() % 8) {
      case 0:
        clients.push_back(connect(random() % 2 == 0, random() % 3 == 0 ? Port::kRedis : Port::kAll));
        break;
      case 1:
        if (!clients.empty()) clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 2:
        if (!clients.empty()) clients[at]->heard();
        break;
      case 3:
        answer_all();
        break;
      default:
        if (!clients.empty()) clients[at]->send(words[random() % words.size()]);
    }
    turn();
    ASSERT_LE(budget_.bytes(BufferBudget::Pool::kAll), kBudget);
    ASSERT_LE(budget_.bytes(BufferBudget::Pool::kStrangers), budget_.bytes(BufferBudget::Pool::kAll));
  }
  clients.clear();
  turn();
  set_.drain();
  while (set_.size() > 0) {
    clock_.advance(1'000'000);
    context_.refresh_time();
    set_.tick();
    answer_all();
    turn();
  }
  EXPECT_EQ(budget_.bytes(BufferBudget::Pool::kAll), 0u);
  EXPECT_EQ(budget_.bytes(BufferBudget::Pool::kStrangers), 0u);
}

}  // namespace
}  // namespace sluice::net

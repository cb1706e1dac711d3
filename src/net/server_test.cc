#include "net/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <thread>

#include "net/testing/application.h"
#include "net/testing/client.h"

namespace sluice::net {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const SystemClock kClock;

std::unique_ptr<Server> start(ServerOptions options = {}) {
  auto server = Server::start(std::move(options), kClock,
                              [](EventLoop&) { return std::make_unique<TestApplication>(); });
  EXPECT_TRUE(server.has_value());
  return std::move(*server);
}

std::string get(std::string_view path, std::string_view more = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n" + std::string(more) + "\r\n";
}

std::string post(std::string_view body) {
  return "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

constexpr std::string_view kClose = "Connection: close\r\n";

TEST(Server, answers_over_a_real_socket) {
  const auto server = start();
  const TestClient client(server->port());
  client.send(post("hello") + get("/bye", kClose));
  const std::string answers = client.read_to_end();
  EXPECT_THAT(answers, HasSubstr("\r\n\r\nhelloHTTP/1.1 200 OK"));
  EXPECT_THAT(answers, HasSubstr("connection: close"));
}

TEST(Server, tells_the_application_by_which_port_a_request_came) {
  ServerOptions options;
  options.threads = 2;
  options.listen = {{.use = Port::kChecks}, {.use = Port::kAdmin}};
  const auto server = start(options);
  for (const std::size_t at : {0u, 1u, 1u, 0u}) {
    const TestClient client(server->port(at));
    client.send(get("/port", kClose));
    EXPECT_THAT(client.read_to_end(), testing::EndsWith(at == 1 ? "\r\n\r\nadmin" : "\r\n\r\nother"));
  }
}

TEST(Server, closes_the_first_port_when_the_second_is_taken) {
  const auto other = start();
  ServerOptions options;
  options.listen = {{}, {.port = other->port()}};
  EXPECT_FALSE(
      Server::start(options, kClock, [](EventLoop&) { return std::make_unique<TestApplication>(); }));
}

TEST(Server, says_clearly_why_it_can_not_listen) {
  const auto first = start();
  ServerOptions options;
  options.listen[0].port = first->port();
  const auto second =
      Server::start(options, kClock, [](EventLoop&) { return std::make_unique<TestApplication>(); });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            "cannot listen on 127.0.0.1:" + std::to_string(first->port()) + ": address already in use");

  options.listen[0].host = "192.0.2.1";
  const auto elsewhere =
      Server::start(options, kClock, [](EventLoop&) { return std::make_unique<TestApplication>(); });
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().message, HasSubstr("cannot assign requested address"));
}

TEST(Server, the_protocol_is_found_out_byte_by_byte) {
  const auto server = start();
  const TestClient http2(server->port());
  const std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (const char c : preface) http2.send(std::string_view(&c, 1));
  const std::string settings = http2.read(9);
  ASSERT_EQ(settings.size(), 9u);
  EXPECT_EQ(settings[3], 4) << "a SETTINGS frame";

  const TestClient http1(server->port());
  http1.send("PRI");
  http1.send("VATE /x HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(http1.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 OK"));
}

TEST(Server, many_clients_on_several_threads) {
  ServerOptions options;
  options.threads = 3;
  const auto server = start(options);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const TestClient client(server->port());
      for (int i = 0; i < 200; ++i) {
        const std::string body = "client " + std::to_string(t) + " request " + std::to_string(i);
        client.send(post(body));
        client.read_until("\r\n\r\n");
        right += client.read(body.size()) == body;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8 * 200);
}

TEST(Server, large_bodies_and_a_reader_that_takes_its_time) {
  const auto server = start();
  const TestClient client(server->port());
  std::string requests;
  for (int i = 0; i < 20; ++i) requests += get("/big");
  client.send(requests + get("/bye", kClose));
  // Twenty megabytes exceed all buffers in between: the server has to wait, and continues when we read.
  const std::string answers = client.read_to_end();
  EXPECT_GT(answers.size(), 20 * TestApplication::kBigBytes);
  EXPECT_THAT(answers.substr(answers.size() - 300), HasSubstr("connection: close"));

  const TestClient upload(server->port());
  const std::string body(1'000'000, 'u');
  upload.send(post(body));
  upload.read_until("\r\n\r\n");
  EXPECT_EQ(upload.read(body.size()), body);
}

TEST(Server, all_pipelined_requests_are_answered_after_a_half_close) {
  const auto server = start();
  const TestClient client(server->port());
  std::string requests;
  for (int i = 0; i < 3'000; ++i) requests += get("/" + std::to_string(i));
  for (int i = 0; i < 10; ++i) requests += get("/big");
  client.send(requests);
  client.half_close();
  const std::string answers = client.read_to_end();
  std::size_t count = 0;
  for (std::size_t at = answers.find("HTTP/1.1 200"); at != std::string::npos;
       at = answers.find("HTTP/1.1 200", at + 1))
    ++count;
  EXPECT_EQ(count, 3'010u);
}

TEST(Server, the_last_answer_arrives_although_the_request_was_not_read_to_its_end) {
  const auto server = start();
  const TestClient client(server->port());
  client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n");
  for (int i = 0; i < 100; ++i) client.send(std::string(10'000, 'x'));
  client.half_close();
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 413"));
}

TEST(Server, slow_writers_and_silent_connections_are_closed) {
  ServerOptions options;
  options.timeouts = {.idle_us = 1, .request_head_us = 1, .request_us = 1, .unread_answer_us = 1'000'000};
  const auto server = start(options);
  const TestClient silent(server->port());
  const TestClient idle(server->port());
  const TestClient slow(server->port());
  idle.send(post("x"));
  slow.send("GET / HT");
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_THAT(slow.read_to_end(), StartsWith("HTTP/1.1 408"));
  EXPECT_THAT(idle.read_to_end(), StartsWith("HTTP/1.1 200"));
}

TEST(Server, connections_beyond_the_limit_take_the_place_of_idle_ones_or_are_turned_away) {
  ServerOptions options;
  options.connections_max = 2;
  const auto server = start(options);
  const TestClient first(server->port());
  const TestClient second(server->port());
  for (const TestClient* client : {&first, &second}) {
    client->send(post("x"));
    client->read_until("\r\n\r\nx");
  }
  EXPECT_EQ(server->connection_count(), 2u);
  const TestClient third(server->port());
  third.send(post("x"));
  EXPECT_THAT(third.read_until("\r\n\r\nx"), HasSubstr("200 OK"));
  EXPECT_EQ(first.read_to_end(), "") << "idle for longest";

  // Connections that wait for an answer are not closed.
  for (const TestClient* client : {&second, &third}) client->send(get("/empty") + get("/later"));
  for (const TestClient* client : {&second, &third}) client->read_until("\r\n\r\n");
  const TestClient fourth(server->port());
  fourth.send(post("x"));
  EXPECT_EQ(fourth.read_to_end(), "");
  EXPECT_EQ(server->stats().connections_shed_room, 1u);
  EXPECT_EQ(server->stats().connections_refused, 1u);
}

TEST(Server, silent_connections_do_not_take_the_place_of_those_that_were_served) {
  ServerOptions options;
  options.threads = 1;
  options.connections_max = 30;
  const auto server = start(options);
  std::vector<std::unique_ptr<TestClient>> served, flood;
  for (int i = 0; i < 10; ++i) {
    served.push_back(std::make_unique<TestClient>(server->port()));
    served.back()->send(post("x"));
    served.back()->read_until("\r\n\r\nx");
  }
  for (int i = 0; i < 100; ++i) flood.push_back(std::make_unique<TestClient>(server->port()));
  while (server->stats().connections_shed_room < 80) std::this_thread::yield();
  const TestClient health_check(server->port());
  health_check.send(post("x"));
  EXPECT_THAT(health_check.read_until("\r\n\r\nx"), HasSubstr("200 OK"));
  for (const auto& one : served) {
    one->send(post("x"));
    EXPECT_THAT(one->read_until("\r\n\r\nx"), HasSubstr("200 OK"));
  }
}

TEST(Server, one_port_cannot_take_all_the_room) {
  ServerOptions options;
  options.connections_max = 8;
  options.listen = {{.use = Port::kChecks}, {.use = Port::kAdmin}};
  const auto server = start(options);
  std::vector<std::unique_ptr<TestClient>> flood;
  for (int i = 0; i < 12; ++i) {
    flood.push_back(std::make_unique<TestClient>(server->port(0)));
    flood.back()->send(get("/empty") + get("/later"));
    flood.back()->read_until("\r\n\r\n");
  }
  EXPECT_EQ(server->connection_count(), 6u);
  const TestClient admin(server->port(1));
  admin.send(post("x"));
  EXPECT_THAT(admin.read_until("\r\n\r\nx"), HasSubstr("200 OK"));
}

TEST(Server, what_clients_make_it_hold_is_bounded_over_all_threads) {
  ServerOptions options;
  options.threads = 3;
  options.buffer_bytes_max = 4u << 20;
  const auto server = start(options);
  std::vector<std::unique_ptr<TestClient>> flood;
  for (int i = 0; i < 30; ++i) {
    flood.push_back(std::make_unique<TestClient>(server->port()));
    flood.back()->send(post(std::string(900'000, 'x')).substr(0, 800'000));
  }
  const TestClient other(server->port());
  other.send(post("x"));
  EXPECT_THAT(other.read_until("\r\n\r\nx"), HasSubstr("200 OK"));
  while (server->stats().connections_shed_memory < 20) std::this_thread::yield();
  flood.clear();
  while (server->connection_count() > 1) std::this_thread::yield();
  EXPECT_EQ(server->stats().buffered_bytes, 0u);
}

TEST(Server, out_of_file_descriptors_is_reported_and_passes) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit before = limit;
  limit.rlim_cur = std::min<rlim_t>(before.rlim_max, 200);
  setrlimit(RLIMIT_NOFILE, &limit);
  std::string problem;
  std::latch reported(1);
  std::atomic<int> reports = 0;
  ServerOptions options;
  options.on_problem = [&](std::string sentence) {
    if (reports++ != 0) return;
    problem = std::move(sentence);
    reported.count_down();
  };
  const auto server = start(options);
  getrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(limit.rlim_cur, before.rlim_max) << "raised as far as possible";

  const TestClient early(server->port());
  early.send(get("/empty") + get("/later"));  // a connection that waits for an answer does not make room
  early.read_until("\r\n\r\n");
  const int lowest_free = dup(STDERR_FILENO);
  close(lowest_free);
  limit.rlim_cur = static_cast<rlim_t>(lowest_free) + 1;  // room for the client's socket, none for its peer
  setrlimit(RLIMIT_NOFILE, &limit);
  const TestClient client(server->port());
  reported.wait();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(client.connected());
  EXPECT_EQ(problem, "cannot accept new connections: Too many open files; connections open: 1");
  client.send(post("patience"));
  EXPECT_THAT(client.read_until("patience"), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_EQ(reports, 1) << "once is enough";
}

TEST(Server, out_of_file_descriptors_who_is_idle_makes_room) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto server = start();
  const TestClient idle(server->port());
  idle.send(post("x"));
  idle.read_until("\r\n\r\nx");
  rlimit limit = before;
  const int lowest_free = dup(STDERR_FILENO);
  close(lowest_free);
  limit.rlim_cur = static_cast<rlim_t>(lowest_free) + 1;  // room for the client's socket, none for its peer
  setrlimit(RLIMIT_NOFILE, &limit);
  const TestClient client(server->port());
  client.send(post("y"));
  const std::string answer = client.read_until("\r\n\r\ny");
  setrlimit(RLIMIT_NOFILE, &before);  // sanitizers need descriptors, too
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  EXPECT_EQ(idle.read_to_end(), "");
}

// Answers "/later" when the test says so, from the loop's tick.
class Gate final : public Application, public LoopHooks {
 public:
  Gate(std::atomic<bool>& open, std::latch& asked) : open_(open), asked_(asked) {}
  Application& application() override { return *this; }
  void handle_http(const HttpRequest&, HttpReply& reply) override {
    waiting_.push_back(reply.later());
    asked_.count_down();
  }
  void handle_unary(const GrpcContext&, std::string_view, GrpcReply&) override {}
  MethodKind method_kind(std::string_view, const Peer&) const override { return MethodKind::kUnknown; }
  std::unique_ptr<GrpcStreamHandler> open_stream(const GrpcContext&, GrpcStream&) override { return nullptr; }
  void tick(std::int64_t) override {
    if (!open_) return;
    for (const HttpReply::Later& later : waiting_) {
      HttpResponse response;
      response.body = "after a while";
      later(std::move(response));
    }
    waiting_.clear();
  }

 private:
  std::atomic<bool>& open_;
  std::latch& asked_;
  std::vector<HttpReply::Later> waiting_;
};

TEST(Server, a_drain_lets_requests_under_way_finish) {
  std::atomic<bool> open = false;
  std::latch asked(1);
  ServerOptions options;
  auto server =
      Server::start(options, kClock, [&](EventLoop&) { return std::make_unique<Gate>(open, asked); });
  ASSERT_TRUE(server);
  const TestClient idle((*server)->port());
  auto busy = std::make_unique<TestClient>((*server)->port());
  busy->send(get("/later"));
  asked.wait();
  (*server)->begin_drain();
  EXPECT_EQ(idle.read_to_end(), "") << "nothing is under way here";
  EXPECT_FALSE(TestClient((*server)->port()).connected()) << "nobody new gets in";
  open = true;
  const std::string answer = busy->read_to_end();
  EXPECT_THAT(answer, HasSubstr("connection: close"));
  EXPECT_THAT(answer, HasSubstr("after a while"));
  busy.reset();
  (*server)->wait();
}

TEST(Server, a_drain_answers_the_next_request_of_a_connection_that_was_idle) {
  ServerOptions options;
  options.drain_us = options.drain_idle_us = 600'000'000;
  auto server =
      Server::start(options, kClock, [&](EventLoop&) { return std::make_unique<TestApplication>(); });
  ASSERT_TRUE(server);
  auto kept = std::make_unique<TestClient>((*server)->port());
  auto fresh = std::make_unique<TestClient>((*server)->port());  // has sent nothing
  kept->send(get("/"));
  EXPECT_THAT(kept->read_until("\r\n\r\n"), Not(HasSubstr("connection: close")));
  (*server)->begin_drain();
  while (TestClient((*server)->port()).connected()) std::this_thread::yield();
  for (const auto& client : {kept.get(), fresh.get()}) {
    EXPECT_TRUE(client->send(get("/")));
    const std::string answer = client->read_to_end();
    EXPECT_THAT(answer, HasSubstr("HTTP/1.1 200 OK"));
    EXPECT_THAT(answer, HasSubstr("connection: close"));
  }
  kept.reset();
  fresh.reset();
  (*server)->wait();
}

TEST(Server, a_drain_does_not_wait_for_ever) {
  std::atomic<bool> open = false;
  std::latch asked(1);
  ServerOptions options;
  options.drain_us = 1'000;
  auto server =
      Server::start(options, kClock, [&](EventLoop&) { return std::make_unique<Gate>(open, asked); });
  ASSERT_TRUE(server);
  const TestClient busy((*server)->port());
  busy.send(get("/later"));
  asked.wait();
  (*server)->begin_drain();
  (*server)->wait();
  server->reset();
  EXPECT_EQ(busy.read_to_end(), "");
}

}  // namespace
}  // namespace sluice::net

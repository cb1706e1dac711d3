#include "net/http1/http1_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/testing/application.h"

namespace sluice::net {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kPost = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";

class Http1SessionTest : public testing::Test, public SessionHost {
 protected:
  void output_ready() override { ready_ = true; }

  std::string receive(std::string bytes) {
    std::string out;
    context_.refresh_time();
    session_.receive({bytes.data(), bytes.size()}, out);
    return out;
  }
  std::string resume() {
    std::string out;
    session_.resume(out);
    return out;
  }
  std::string tick_after(std::int64_t us) {
    std::string out;
    clock_.advance(us);
    context_.refresh_time();
    session_.tick(out);
    return out;
  }
  static int count(std::string_view text, std::string_view what) {
    int found = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1))
      ++found;
    return found;
  }

  ManualClock clock_{784'111'777'000'000};  // Sun, 06 Nov 1994 08:49:37 GMT
  TestApplication application_;
  SessionContext context_{application_, clock_};
  Http1Session session_{context_, *this, kTestPeer};
  bool ready_ = false;
};

TEST_F(Http1SessionTest, answers_a_request) {
  EXPECT_EQ(receive(std::string(kPost)),
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n"
            "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nx-echo: yes\r\n\r\nhello");
  EXPECT_THAT(application_.requests, ElementsAre("POST /a"));
  EXPECT_FALSE(session_.finished());
  EXPECT_TRUE(session_.idle());
}

TEST_F(Http1SessionTest, answers_pipelined_requests_in_one_go_and_in_order) {
  const std::string out = receive("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n" + std::string(kPost) +
                                  "GET /3?q HTTP/1.1\r\nHost: x\r\n\r\nGET /half");
  EXPECT_EQ(count(out, "HTTP/1.1 200 OK"), 3);
  EXPECT_THAT(application_.requests, ElementsAre("GET /1", "POST /a", "GET /3?q"));
  EXPECT_FALSE(session_.idle());
}

TEST_F(Http1SessionTest, does_not_care_how_the_bytes_are_cut) {
  const std::string chunked =
      "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  const std::string all = std::string(kPost) + chunked + std::string(kPost);
  std::string out;
  for (const char c : all) out += receive(std::string(1, c));
  EXPECT_EQ(count(out, "HTTP/1.1 200 OK"), 3);
  EXPECT_THAT(application_.requests, ElementsAre("POST /a", "POST /b", "POST /a"));
  EXPECT_THAT(out, HasSubstr("\r\n\r\nabcHTTP"));
  EXPECT_TRUE(session_.idle());
}

TEST_F(Http1SessionTest, head_and_204_have_no_body) {
  const std::string head = receive("HEAD /big HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("content-length: 1000000\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
  const std::string empty = receive("GET /empty HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(empty, StartsWith("HTTP/1.1 204 No Content\r\n"));
  EXPECT_EQ(count(empty, "content-length"), 0);
}

TEST_F(Http1SessionTest, sends_100_continue_only_to_those_who_wait) {
  const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
  EXPECT_EQ(receive(head), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_THAT(receive("hel"), "");
  EXPECT_THAT(receive("lo"), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(receive(head + "hello"), StartsWith("HTTP/1.1 200 OK")) << "the body is here already";
}

TEST_F(Http1SessionTest, a_body_that_is_too_large_is_refused_before_it_is_sent) {
  const std::string out =
      receive("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(out,
              StartsWith("HTTP/1.1 413 Content Too Large\r\ncontent-type: application/problem+json\r\n"));
  EXPECT_THAT(out, HasSubstr("connection: close\r\n"));
  EXPECT_THAT(out, HasSubstr(R"("status":413)"));
  EXPECT_TRUE(session_.finished());
  EXPECT_THAT(application_.requests, ElementsAre());
}

TEST_F(Http1SessionTest, after_an_error_nothing_that_follows_is_served) {
  const std::string out = receive(
      "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
      "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(out, StartsWith("HTTP/1.1 400 Bad Request"));
  EXPECT_EQ(count(out, "HTTP/1.1"), 1);
  EXPECT_EQ(receive(std::string(kPost)), "");
  EXPECT_THAT(application_.requests, ElementsAre());
}

TEST_F(Http1SessionTest, a_peer_that_does_not_speak_http_gets_no_answer_in_it) {
  EXPECT_EQ(receive("INVALID CONNECTION PREFACE\r\n\r\n" + std::string(kPost)), "");
  EXPECT_TRUE(session_.finished());
  EXPECT_THAT(application_.requests, ElementsAre());
}

TEST_F(Http1SessionTest, closes_when_asked_to) {
  const std::string out =
      receive("GET /1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(out, HasSubstr("connection: close\r\n"));
  EXPECT_TRUE(session_.finished());
  EXPECT_THAT(application_.requests, ElementsAre("GET /1"));
}

TEST_F(Http1SessionTest, speaks_http_1_0) {
  EXPECT_THAT(receive("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
              HasSubstr("connection: keep-alive\r\n"));
  EXPECT_FALSE(session_.finished());
  EXPECT_THAT(receive("GET /1 HTTP/1.0\r\n\r\n"), HasSubstr("connection: close\r\n"));
  EXPECT_TRUE(session_.finished());
}

TEST_F(Http1SessionTest, pipelined_requests_wait_for_a_deferred_answer) {
  EXPECT_EQ(receive("GET /later HTTP/1.1\r\nHost: x\r\n\r\n" + std::string(kPost)), "");
  EXPECT_THAT(application_.requests, ElementsAre("GET /later"));
  HttpResponse response;
  response.body = "at last";
  application_.http_later.at(0)(std::move(response));
  EXPECT_TRUE(ready_);
  const std::string out = resume();
  EXPECT_THAT(out, HasSubstr("at lastHTTP/1.1 200 OK"));
  EXPECT_THAT(out, EndsWith("hello"));
}

TEST_F(Http1SessionTest, a_peer_that_pipelines_without_end_has_to_wait) {
  receive("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(session_.wants_input());
  for (int i = 0; i < 10; ++i) receive(std::string(60'000, 'x'));
  EXPECT_FALSE(session_.wants_input());
}

TEST_F(Http1SessionTest, an_answer_for_a_client_that_has_gone_is_harmless) {
  auto gone = std::make_unique<Http1Session>(context_, *this, kTestPeer);
  std::string bytes = "GET /later HTTP/1.1\r\nHost: x\r\n\r\n", out;
  gone->receive({bytes.data(), bytes.size()}, out);
  gone.reset();
  application_.http_later.at(0)(HttpResponse());
  EXPECT_FALSE(ready_);
}

TEST_F(Http1SessionTest, a_client_that_has_sent_its_last_request_still_gets_all_answers) {
  receive("GET /later HTTP/1.1\r\nHost: x\r\n\r\n" + std::string(kPost));
  session_.end_of_input();
  EXPECT_FALSE(session_.finished());
  application_.http_later.at(0)(HttpResponse());
  EXPECT_EQ(count(resume(), "HTTP/1.1 200 OK"), 2);
  EXPECT_TRUE(session_.finished());
}

TEST_F(Http1SessionTest, stops_producing_when_the_peer_does_not_read) {
  std::string requests;
  for (int i = 0; i < 10; ++i) requests += "GET /big HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(count(receive(requests), "HTTP/1.1 200 OK"), 1);
  for (int i = 1; i < 10; ++i) EXPECT_EQ(count(resume(), "HTTP/1.1 200 OK"), 1);
  EXPECT_TRUE(session_.idle());
}

TEST_F(Http1SessionTest, answers_wait_for_a_slow_reader_although_it_has_sent_its_last_request) {
  std::string requests;
  for (int i = 0; i < 10; ++i) requests += "GET /big HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(count(receive(requests + "GET /half"), "HTTP/1.1 200 OK"), 1);
  session_.end_of_input();
  for (int i = 1; i < 10; ++i) {
    EXPECT_FALSE(session_.finished());
    EXPECT_EQ(count(resume(), "HTTP/1.1 200 OK"), 1);
  }
  EXPECT_EQ(resume(), "");
  EXPECT_TRUE(session_.finished()) << "half a request will never become a whole one";
}

TEST_F(Http1SessionTest, whole_requests_of_a_slow_reader_do_not_time_out) {
  const std::string big = "GET /big HTTP/1.1\r\nHost: x\r\n\r\n";
  receive(big + big);
  EXPECT_EQ(tick_after(context_.timeouts.request_us), "");
  EXPECT_THAT(resume(), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_FALSE(session_.finished());
}

TEST_F(Http1SessionTest, slow_heads_slow_bodies_and_idle_connections_end) {
  const auto& timeouts = context_.timeouts;
  receive("POST /a HTT");
  EXPECT_EQ(tick_after(timeouts.request_head_us - 1), "");
  receive("P/1.1\r\n");  // an occasional byte does not help
  EXPECT_THAT(tick_after(1), StartsWith("HTTP/1.1 408 Request Timeout"));
  EXPECT_TRUE(session_.finished());

  for (const std::string begin :
       {"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nh",
        "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nh"}) {
    Http1Session slow(context_, *this, kTestPeer);
    std::string bytes = begin, drop = "e", out;
    slow.receive({bytes.data(), bytes.size()}, out);
    clock_.advance(timeouts.request_us - 1);
    context_.refresh_time();
    slow.receive({drop.data(), drop.size()}, out);
    slow.tick(out);
    EXPECT_EQ(out, "");
    clock_.advance(1);
    context_.refresh_time();
    slow.tick(out);
    EXPECT_THAT(out, StartsWith("HTTP/1.1 408 Request Timeout")) << begin;
  }

  Http1Session idle(context_, *this, kTestPeer);
  std::string out;
  clock_.advance(timeouts.idle_us);
  context_.refresh_time();
  idle.tick(out);
  EXPECT_EQ(out, "");
  EXPECT_TRUE(idle.finished());
}

TEST_F(Http1SessionTest, a_drained_session_finishes_what_is_under_way) {
  std::string out;
  receive("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  session_.drain(out);
  EXPECT_FALSE(session_.finished());
  application_.http_later.at(0)(HttpResponse());
  EXPECT_THAT(resume(), HasSubstr("connection: close\r\n"));
  EXPECT_TRUE(session_.finished());

  Http1Session idle(context_, *this, kTestPeer);
  idle.drain(out);
  EXPECT_TRUE(idle.finished());
}

TEST_F(Http1SessionTest, a_drain_waits_a_moment_for_one_more_request_and_answers_it) {
  std::string out;
  context_.drain_idle_until_us = context_.now_us + 1'000;
  session_.drain(out);
  session_.tick(out);
  EXPECT_FALSE(session_.finished());
  EXPECT_THAT(receive("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("connection: close\r\n"));
  EXPECT_TRUE(session_.finished());

  Http1Session idle(context_, *this, kTestPeer);
  idle.drain(out);
  clock_.advance(999);
  context_.refresh_time();
  idle.tick(out);
  EXPECT_FALSE(idle.finished());
  clock_.advance(1);
  context_.refresh_time();
  idle.tick(out);
  EXPECT_TRUE(idle.finished());
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace sluice::net

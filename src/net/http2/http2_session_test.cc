#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/testing/http2_session_fixture.h"

namespace sluice::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Headers = Http2TestClient::Headers;

TEST_F(Http2SessionTest, answers_json_over_http2) {
  Headers headers = Http2TestClient::http_headers("POST", "/v1/x?a=b");
  headers.emplace_back("content-type", "application/json");
  const auto& answer = send(headers, "{}");
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.header("content-type"), "application/json");
  EXPECT_EQ(answer.header("content-length"), "3");
  EXPECT_EQ(answer.header("date"), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(answer.header("x-echo"), "yes");
  EXPECT_EQ(answer.body, "{}\n") << "JSON ends with a line break";
  EXPECT_TRUE(answer.closed);
  EXPECT_THAT(application_.requests, ElementsAre("POST /v1/x?a=b"));
  EXPECT_EQ(application_.header(":path"), "(none)") << "pseudo headers are HTTP/2's own business";
  EXPECT_EQ(application_.header("host"), "test") << "except for what HTTP/1 knows, too";
}

TEST_F(Http2SessionTest, head_and_204_have_no_body) {
  const auto& head = send(Http2TestClient::http_headers("HEAD", "/big"), "");
  EXPECT_EQ(head.header("content-length"), "1000000");
  EXPECT_EQ(head.body, "");
  const auto& empty = send(Http2TestClient::http_headers("GET", "/empty"), "");
  EXPECT_EQ(empty.status(), 204);
  EXPECT_TRUE(empty.closed);
}

TEST_F(Http2SessionTest, answers_a_unary_call) {
  const auto& answer = call("/test.Echo/Unary", "hello");
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.header("content-type"), "application/grpc");
  EXPECT_THAT(answer.messages(), ElementsAre("hello"));
  EXPECT_EQ(answer.grpc_status(), "0");
  EXPECT_EQ(answer.header("grpc-message"), "(none)");
  EXPECT_TRUE(answer.closed);
  EXPECT_EQ(answer.error_code, 0u);
}

TEST_F(Http2SessionTest, many_calls_at_once_use_the_same_memory_again) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 300; ++i) client_.call("/test.Echo/Unary", std::to_string(i));
    client_.run();
  }
  EXPECT_EQ(client_.answers.size(), 900u);
  for (const auto& [id, answer] : client_.answers) EXPECT_EQ(answer.grpc_status(), "0");
  EXPECT_EQ(client_.answers[1].messages().at(0), "0");
  EXPECT_EQ(client_.answers[1799].messages().at(0), "299");
  EXPECT_LE(context_.streams.size(), 300u);
  EXPECT_TRUE(client_.session.idle());
}

TEST_F(Http2SessionTest, an_error_is_trailers_only_with_message_and_details_encoded) {
  const auto& answer = call("/test.Echo/Fail", "x");
  EXPECT_EQ(answer.grpc_status(), "3");
  EXPECT_EQ(answer.header("grpc-message"), "50%25 wr%C3%B6ng");
  EXPECT_EQ(answer.header("grpc-status-details-bin"), "ZGV0YWlscw");
  EXPECT_EQ(answer.body, "");
}

TEST_F(Http2SessionTest, table_of_calls_that_fail) {
  const std::string echo = "/test.Echo/Unary";
  const auto with = [&](const Headers& more) {
    Headers headers = Http2TestClient::grpc_headers(echo);
    headers.insert(headers.end(), more.begin(), more.end());
    return headers;
  };
  const std::string good = Http2TestClient::framed("x");
  const struct {
    const char* why;
    Headers headers;
    std::string body;
    std::string status;
  } rows[] = {
      {"unknown method", Http2TestClient::grpc_headers("/test.Other/X"), good, "12"},
      {"no message", with({}), "", "13"},
      {"half a prefix", with({}), std::string(3, '\0'), "13"},
      {"half a message", with({}), good.substr(0, 5), "13"},
      {"two messages", with({}), good + good, "13"},
      {"flag 2", with({}), "\x02" + good.substr(1), "13"},
      {"announces 2 GB", with({}), std::string("\0\x7f\xff\xff\xff", 5), "8"},
      {"compressed, but no encoding named", with({}), Http2TestClient::framed("x", true), "13"},
      {"not gzip", with({{"grpc-encoding", "gzip"}}), Http2TestClient::framed("x", true), "13"},
      {"unknown encoding", with({{"grpc-encoding", "snappy"}}), good, "12"},
      {"deadline passed before it began", with({{"grpc-timeout", "0m"}}), good, "4"},
      {"malformed timeout", with({{"grpc-timeout", "soon"}}), good, "13"},
      {"metadata that is not base64", with({{"x-bin", "!!!"}}), good, "13"},
      {"streaming call with half a message", Http2TestClient::grpc_headers("/test.Echo/Stream"),
       good.substr(0, 5), "13"},
      {"streaming call with flag 9", Http2TestClient::grpc_headers("/test.Echo/Stream"),
       "\x09" + good.substr(1), "13"},
  };
  for (const auto& row : rows) {
    const auto& answer = send(row.headers, row.body);
    EXPECT_EQ(answer.grpc_status(), row.status) << row.why;
    EXPECT_EQ(answer.status(), 200) << row.why;
    EXPECT_TRUE(answer.closed) << row.why;
  }
  EXPECT_EQ(call(echo, "still alive").grpc_status(), "0");
}

TEST_F(Http2SessionTest, an_unknown_encoding_is_told_which_ones_are_known) {
  EXPECT_EQ(call("/test.Echo/Unary", "x", {{"grpc-encoding", "br"}}).header("grpc-accept-encoding"),
            "identity,gzip");
}

TEST_F(Http2SessionTest, what_is_no_grpc_call_gets_an_http_status) {
  Headers get = Http2TestClient::grpc_headers("/test.Echo/Unary");
  get[0].second = "GET";
  const auto& not_post = send(get, "");
  EXPECT_EQ(not_post.status(), 405);
  EXPECT_EQ(not_post.header("allow"), "POST");
  for (const char* type :
       {"application/grpc-web", "application/grpc+json", "application/json", "text/plain"}) {
    Headers headers = Http2TestClient::grpc_headers("/test.Echo/Unary");
    headers[4].second = type;
    EXPECT_EQ(send(headers, "{}").status(), 415) << type;
  }
  Headers proto = Http2TestClient::grpc_headers("/test.Echo/Unary");
  proto[4].second = "application/grpc+proto";
  EXPECT_EQ(send(proto, Http2TestClient::framed("x")).grpc_status(), "0");
}

TEST_F(Http2SessionTest, gzip_in_and_out) {
  std::string packed;
  Gzip().pack(std::string(10'000, 'z'), packed);
  Headers headers = Http2TestClient::grpc_headers("/test.Echo/Unary");
  headers.emplace_back("grpc-encoding", "gzip");
  const auto& plain = send(headers, Http2TestClient::framed(packed, true));
  EXPECT_THAT(plain.messages(), ElementsAre(std::string(10'000, 'z'))) << "the client accepts no gzip";

  headers.emplace_back("grpc-accept-encoding", "identity, gzip");
  const auto& answer = send(headers, Http2TestClient::framed(packed, true));
  EXPECT_EQ(answer.header("grpc-encoding"), "gzip");
  EXPECT_LT(answer.body.size(), 1000u);
  EXPECT_EQ(answer.body[0], 1);
  std::string unpacked;
  EXPECT_EQ(Gzip().unpack(answer.messages().at(0), 10'000, unpacked), Gzip::Outcome::kOk);
  EXPECT_EQ(unpacked, std::string(10'000, 'z'));
}

TEST_F(Http2SessionTest, a_decompression_bomb_is_refused) {
  std::string packed;
  Gzip().pack(std::string(100'000'000, '\0'), packed);
  Headers headers = Http2TestClient::grpc_headers("/test.Echo/Unary");
  headers.emplace_back("grpc-encoding", "gzip");
  EXPECT_EQ(send(headers, Http2TestClient::framed(packed, true)).grpc_status(), "8");
}

TEST_F(Http2SessionTest, metadata_arrives_and_bin_values_are_decoded) {
  call("/test.Echo/Unary", "x",
       {{"x-plain", "text"}, {"x-bin", "AP8"}, {"y-bin", "Zm9v"}, {"grpc-timeout", "5S"}});
  EXPECT_EQ(application_.header("x-plain"), "text");
  EXPECT_EQ(application_.header("x-bin"), std::string("\0\xff", 2));
  EXPECT_EQ(application_.header("y-bin"), "foo");
  EXPECT_EQ(application_.last_deadline_us, clock_.now_us() + 5'000'000);
}

TEST_F(Http2SessionTest, the_idempotency_key_is_at_hand_and_a_second_is_told) {
  call("/test.Echo/Unary", "x", {{"x-idempotency-key", "one"}});
  EXPECT_EQ(application_.last_idempotency_key, "one");
  EXPECT_EQ(application_.last_idempotency_keys, 1u);
  call("/test.Echo/Unary", "x", {{"x-idempotency-key", ""}, {"x-idempotency-key", "two"}});
  EXPECT_EQ(application_.last_idempotency_keys, 2u);
  call("/test.Echo/Unary", "x", {{"x-bin", "AP8"}, {"x-idempotency-key", "decoded"}});
  EXPECT_EQ(application_.last_idempotency_key, "decoded");
  call("/test.Echo/Unary", "x", {{"idempotency-key", "of the admin API"}});
  EXPECT_EQ(application_.last_idempotency_key, "");
  EXPECT_EQ(application_.last_idempotency_keys, 0u);
}

TEST_F(Http2SessionTest, a_deferred_call_is_answered_later) {
  const auto& answer = call("/test.Echo/Later", "x");
  EXPECT_FALSE(answer.closed);
  application_.grpc_later.at(0)({{}, "at last"});
  EXPECT_TRUE(client_.ready);
  client_.run();
  EXPECT_THAT(answer.messages(), ElementsAre("at last"));
  EXPECT_EQ(answer.grpc_status(), "0");
  application_.grpc_later.at(0)({{}, "twice is harmless"});
  EXPECT_FALSE(client_.ready);
}

TEST_F(Http2SessionTest, who_waits_for_an_answer_of_a_busy_application_is_not_read) {
  application_.busy = true;
  EXPECT_TRUE(client_.session.wants_input());
  call("/test.Echo/Later", "x");
  EXPECT_FALSE(client_.session.wants_input());
  application_.busy = false;
  EXPECT_TRUE(client_.session.wants_input());
  application_.busy = true;
  application_.grpc_later.at(0)({{}, "at last"});
  EXPECT_TRUE(client_.session.wants_input()) << "it waits for nothing any more";
}

TEST_F(Http2SessionTest, deferred_http_and_client_that_gives_up) {
  const std::int32_t first = client_.request(Http2TestClient::http_headers("GET", "/later"), "");
  const std::int32_t second = client_.request(Http2TestClient::http_headers("GET", "/later"), "");
  client_.run();
  nghttp2_submit_rst_stream(client_.client, NGHTTP2_FLAG_NONE, first, NGHTTP2_CANCEL);
  client_.run();
  HttpResponse response;
  response.body = "late";
  application_.http_later.at(0)(HttpResponse());
  EXPECT_FALSE(client_.ready);
  application_.http_later.at(1)(std::move(response));
  client_.run();
  EXPECT_EQ(client_.answers[second].body, "late");
}

TEST_F(Http2SessionTest, a_deferred_call_ends_at_its_deadline) {
  const auto& answer = call("/test.Echo/Later", "x", {{"grpc-timeout", "20m"}});
  clock_.advance(19'999);
  context_.deferred.expire_until(clock_.now_us());
  client_.run();
  EXPECT_FALSE(answer.closed);
  clock_.advance(1);
  context_.deferred.expire_until(clock_.now_us());
  client_.run();
  EXPECT_EQ(answer.grpc_status(), "4");
  application_.grpc_later.at(0)({{}, "too late"});
  EXPECT_FALSE(client_.ready);
}

TEST_F(Http2SessionTest, a_message_that_arrives_after_the_deadline_is_not_handled) {
  const std::int32_t id = client_.request(Http2TestClient::grpc_headers("/test.Echo/Unary"), "", true);
  nghttp2_session_resume_data(client_.client, id);
  client_.run();
  Headers headers = Http2TestClient::grpc_headers("/test.Echo/Unary");
  headers.emplace_back("grpc-timeout", "1m");
  const std::int32_t late = client_.request(headers, "", true);
  client_.run();
  clock_.advance(1'000);
  context_.refresh_time();
  client_.upload(late, Http2TestClient::framed("x"), true);
  client_.run();
  EXPECT_EQ(client_.answers[late].grpc_status(), "4");
  EXPECT_THAT(application_.requests, ElementsAre());
}

TEST_F(Http2SessionTest, streams_in_both_directions) {
  const std::int32_t id = client_.call("/test.Echo/Stream", "one", {}, true);
  client_.run();
  EXPECT_THAT(client_.answers[id].messages(), ElementsAre("one", "one"));
  EXPECT_EQ(application_.open_streams, 1);
  const std::string two = Http2TestClient::framed("two");
  client_.upload(id, two.substr(0, 6), false);
  client_.run();
  client_.upload(id, two.substr(6), true);
  client_.run();
  EXPECT_THAT(client_.answers[id].messages(), ElementsAre("one", "one", "two", "two"));
  EXPECT_EQ(client_.answers[id].grpc_status(), "0");
  EXPECT_TRUE(client_.answers[id].closed);
  EXPECT_EQ(application_.open_streams, 0);
}

TEST_F(Http2SessionTest, a_stream_ends_at_its_deadline_or_with_its_client) {
  const std::int32_t id = client_.call("/test.Echo/Stream", "one", {{"grpc-timeout", "1S"}}, true);
  client_.run();
  clock_.advance(1'000'000);
  context_.deferred.expire_until(clock_.now_us());
  client_.run();
  EXPECT_EQ(client_.answers[id].grpc_status(), "4");
  EXPECT_TRUE(client_.answers[id].closed) << "although the client never finished its side";

  const std::int32_t other = client_.call("/test.Echo/Stream", "one", {}, true);
  client_.run();
  EXPECT_EQ(application_.open_streams, 1);
  nghttp2_submit_rst_stream(client_.client, NGHTTP2_FLAG_NONE, other, NGHTTP2_CANCEL);
  client_.run();
  EXPECT_EQ(application_.open_streams, 0);
}

TEST_F(Http2SessionTest, a_body_that_is_too_large_is_refused_early) {
  Headers headers = Http2TestClient::http_headers("POST", "/a");
  headers.emplace_back("content-length", "1048577");
  const std::int32_t announced = client_.request(headers, "x", true);
  client_.run();
  EXPECT_EQ(client_.answers[announced].status(), 413);
  EXPECT_THAT(client_.answers[announced].body, HasSubstr("too large"));
  EXPECT_EQ(send(Http2TestClient::http_headers("POST", "/a"), std::string(1'048'577, 'x')).status(), 413);
  EXPECT_EQ(send(Http2TestClient::http_headers("POST", "/a"), std::string(100, 'x')).status(), 200);
}

TEST_F(Http2SessionTest, who_has_been_refused_may_send_the_rest_but_not_for_ever) {
  const Headers headers = Http2TestClient::http_headers("POST", "/a");
  const std::int32_t whole = client_.request(headers, std::string(3'000'000, 'x'));
  const std::int32_t endless = client_.request(headers, std::string(20'000'000, 'x'), true);
  const std::int32_t silent = client_.request(headers, std::string(1'100'000, 'x'), true);
  client_.run();
  for (const std::int32_t id : {whole, endless, silent}) EXPECT_EQ(client_.answers[id].status(), 413);
  EXPECT_TRUE(client_.answers[whole].closed);
  EXPECT_TRUE(client_.answers[endless].closed);
  EXPECT_FALSE(client_.answers[silent].closed);
  tick_after(context_.timeouts.request_us);
  EXPECT_TRUE(client_.answers[silent].closed);
  for (const std::int32_t id : {whole, endless, silent})
    EXPECT_EQ(client_.answers[id].error_code, NGHTTP2_NO_ERROR);
  EXPECT_EQ(client_.goaways, 0);
}

TEST_F(Http2SessionTest, headers_that_are_too_many_or_too_large_are_refused) {
  Headers many = Http2TestClient::http_headers("GET", "/a");
  for (int i = 0; i < 61; ++i) many.emplace_back("x-" + std::to_string(i), "y");
  EXPECT_EQ(send(many, "").status(), 431);
  Headers large = Http2TestClient::http_headers("GET", "/a");
  large.emplace_back("x", std::string(20'000, 'y'));
  EXPECT_EQ(send(large, "").status(), 431);
  Headers grpc = Http2TestClient::grpc_headers("/test.Echo/Unary");
  grpc.emplace_back("x", std::string(20'000, 'y'));
  EXPECT_EQ(send(grpc, Http2TestClient::framed("x")).grpc_status(), "8");
  EXPECT_EQ(call("/test.Echo/Unary", "still alive").grpc_status(), "0");
}

}  // namespace
}  // namespace sluice::net

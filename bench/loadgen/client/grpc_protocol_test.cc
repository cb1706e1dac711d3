#include "loadgen/client/grpc_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace sluice::loadgen {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;

nghttp2_nv header(std::string_view name, std::string_view value) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NONE};
}

// An in-memory server: collects requests and answers them when the test says so.
class FakeServer {
 public:
  struct Request {
    std::map<std::string, std::string> headers;
    std::string body;
  };

  FakeServer() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_server_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~FakeServer() { nghttp2_session_del(session_); }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  void receive(const std::string& bytes) {
    const auto n =
        nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ASSERT_EQ(n, static_cast<ssize_t>(bytes.size()));
  }

  // Headers, one message, trailers.
  void answer(std::int32_t stream, const std::string& message) {
    body_ = "\0\0\0\0"s + static_cast<char>(message.size()) + message;
    const std::array headers = {header(":status", "200"), header("content-type", "application/grpc")};
    nghttp2_data_provider provider{};
    provider.source.ptr = this;
    provider.read_callback = give_body;
    nghttp2_submit_response(session_, stream, headers.data(), headers.size(), &provider);
  }
  void refuse(std::int32_t stream, const std::string& grpc_status, const std::string& message) {
    const std::array headers = {header(":status", "200"), header("content-type", "application/grpc"),
                                header("grpc-status", grpc_status), header("grpc-message", message)};
    nghttp2_submit_response(session_, stream, headers.data(), headers.size(), nullptr);
  }
  void refuse_with_http_status(std::int32_t stream, const std::string& status) {
    const nghttp2_nv headers = header(":status", status);
    nghttp2_submit_response(session_, stream, &headers, 1, nullptr);
  }
  void reset(std::int32_t stream) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_INTERNAL_ERROR);
  }
  void go_away() { nghttp2_submit_shutdown_notice(session_); }

  std::string sent() {
    std::string out;
    const std::uint8_t* bytes = nullptr;
    for (ssize_t n = 0; (n = nghttp2_session_mem_send(session_, &bytes)) > 0;)
      out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
    return out;
  }

  std::map<std::int32_t, Request> requests;

 private:
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                       void* self) {
    Request& request = static_cast<FakeServer*>(self)->requests[frame->hd.stream_id];
    request.headers[{reinterpret_cast<const char*>(name), name_size}] = {reinterpret_cast<const char*>(value),
                                                                         value_size};
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* data,
                     std::size_t size, void* self) {
    static_cast<FakeServer*>(self)->requests[stream].body.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }
  static ssize_t give_body(nghttp2_session* session, std::int32_t stream, std::uint8_t* buffer, std::size_t,
                           std::uint32_t* flags, nghttp2_data_source* source, void*) {
    const std::string& body = static_cast<FakeServer*>(source->ptr)->body_;
    std::memcpy(buffer, body.data(), body.size());
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const nghttp2_nv trailer = header("grpc-status", "0");
    nghttp2_submit_trailer(session, stream, &trailer, 1);
    return static_cast<ssize_t>(body.size());
  }

  nghttp2_session* session_ = nullptr;
  std::string body_;
};

class GrpcProtocolTest : public testing::Test {
 protected:
  void start(std::int64_t intended_us, std::uint32_t key = 0) {
    ASSERT_TRUE(protocol_.start({.intended_us = intended_us, .key = key}));
    exchange();
  }
  // Moves bytes both ways; finished calls are in outcomes_: "A"llowed, "D"enied, "F"ailed.
  void exchange() {
    std::string bytes;
    protocol_.write(bytes);
    server_.receive(bytes);
    std::vector<FinishedCall> finished;
    ASSERT_TRUE(protocol_.read(server_.sent(), finished));
    for (const FinishedCall& call : finished) outcomes_ += "ADF"[static_cast<int>(call.outcome)];
  }

  const GrpcCalls calls_{.target = {.authority = "h:1"}, .path = "/sluice.v1.RateLimiter/CheckAndIncrement"};
  const Payload payload_ = Payload::grpc_check({});
  GrpcProtocol protocol_{calls_, payload_, 2};
  FakeServer server_;
  std::string outcomes_;
};

TEST_F(GrpcProtocolTest, SendsAGrpcCallWithItsKey) {
  start(1, 42);
  ASSERT_EQ(server_.requests.size(), 1u);
  const auto& request = server_.requests.begin()->second;
  EXPECT_EQ(request.headers.at(":method"), "POST");
  EXPECT_EQ(request.headers.at(":path"), calls_.path);
  EXPECT_EQ(request.headers.at(":authority"), "h:1");
  EXPECT_EQ(request.headers.at("te"), "trailers");
  EXPECT_EQ(request.headers.at("content-type"), "application/grpc");
  std::string message;
  payload_.render(42, message);
  EXPECT_EQ(request.body, message);
  EXPECT_THAT(request.body, HasSubstr("k000000042"));
}

TEST_F(GrpcProtocolTest, TellsAllowedFromDenied) {
  start(1);
  start(2);
  server_.answer(1, "\x08\x01\x10\x05");
  exchange();
  server_.answer(3, "\x20\x05");
  exchange();
  EXPECT_EQ(outcomes_, "AD");
  EXPECT_EQ(protocol_.first_failure(), "");
}

TEST_F(GrpcProtocolTest, HasNoMoreUnderWayThanItMay) {
  start(1);
  start(2);
  EXPECT_FALSE(protocol_.start({}));
  server_.answer(1, "\x08\x01");
  exchange();
  EXPECT_TRUE(protocol_.start({}));
}

TEST_F(GrpcProtocolTest, AGrpcErrorFailsAndIsQuoted) {
  start(1);
  server_.refuse(1, "5", "no such policy");
  exchange();
  EXPECT_EQ(outcomes_, "F");
  EXPECT_EQ(protocol_.first_failure(), "gRPC status 5: no such policy");
}

TEST_F(GrpcProtocolTest, AnHttpErrorFails) {
  start(1);
  server_.refuse_with_http_status(1, "503");
  exchange();
  EXPECT_EQ(outcomes_, "F");
  EXPECT_EQ(protocol_.first_failure(), "HTTP status 503");
}

TEST_F(GrpcProtocolTest, AResetFails) {
  start(1);
  server_.reset(1);
  exchange();
  EXPECT_EQ(outcomes_, "F");
  EXPECT_THAT(protocol_.first_failure(), HasSubstr("reset"));
}

TEST_F(GrpcProtocolTest, AfterGoAwayAnswersComeButNoCallGoes) {
  start(7);
  server_.go_away();
  exchange();
  EXPECT_TRUE(protocol_.closing());
  EXPECT_FALSE(protocol_.start({}));
  std::vector<std::int64_t> pending;
  protocol_.pending(pending);
  EXPECT_THAT(pending, ElementsAre(7));
  server_.answer(1, "\x08\x01");
  exchange();
  EXPECT_EQ(outcomes_, "A");
}

TEST_F(GrpcProtocolTest, AnotherProtocolEndsTheConnection) {
  start(1);
  std::vector<FinishedCall> finished;
  protocol_.read("HTTP/1.1 400 Bad Request\r\n\r\n", finished);
  EXPECT_TRUE(finished.empty());
  EXPECT_TRUE(protocol_.closing());
}

}  // namespace
}  // namespace sluice::loadgen

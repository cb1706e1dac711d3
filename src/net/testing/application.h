#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "net/http/http_api.h"
#include "net/loop_hooks.h"

namespace sluice::net {

// A peer on this machine that may do everything.
inline const Peer kTestPeer{.address = "127.0.0.1", .port = Port::kAll, .is_trusted = true, .names = {}};

// An application for tests: echoes, and records its requests. Not thread-safe.
//
// HTTP: echoes the body; "/later" is answered by answer_later(); "/big" is 1 MB; "/port" returns the port's
// kind, "/names" the names in the peer's certificate, "/id" the number of the connection.
// gRPC: /test.Echo/Unary, /test.Echo/Later, /test.Echo/Fail (INVALID_ARGUMENT), /test.Echo/Stream (each
// message twice), /test.Echo/Many (as many messages as requested, as the reader takes them).
// Redis: echoes the last word; "later" is answered by the test, "quit" is the last command.
class TestApplication final : public Application, public LoopHooks {
 public:
  static constexpr std::size_t kBigBytes = 1'000'000;

  Application& application() override { return *this; }

  void handle_http(const HttpRequest& request, HttpReply& reply) override {
    HttpResponse& response = reply.response;
    if (recognises) request.peer->recognise();
    std::string seen;
    seen.append(request.method).append(" ").append(request.path);
    if (!request.query.empty()) seen.append("?").append(request.query);
    requests.push_back(seen);
    last_headers.clear();
    for (const Header& header : request.headers) last_headers.emplace_back(header.name, header.value);
    if (request.path == "/port") {
      response.body = request.peer->port == Port::kAdmin ? "admin" : "other";
    } else if (request.path == "/names") {
      for (const std::string& name : request.peer->names) response.body += name + ";";
    } else if (request.path == "/id") {
      response.body = std::to_string(request.peer->id);
    } else if (request.path == "/later") {
      http_later.push_back(reply.later());
    } else if (request.path == "/big") {
      response.body.assign(kBigBytes, 'b');
    } else if (request.path == "/empty") {
      response.status = 204;
    } else {
      response.headers.emplace_back("x-echo", "yes");
      response.body = request.body;
    }
  }

  void handle_unary(const GrpcContext& context, std::string_view message, GrpcReply& reply) override {
    requests.emplace_back(context.path);
    last_headers.clear();
    for (const auto& [name, value] : *context.metadata) last_headers.emplace_back(name, value);
    last_deadline_us = context.deadline_us;
    last_idempotency_key = context.idempotency_key;
    last_idempotency_keys = context.idempotency_keys;
    if (context.path == "/test.Echo/Later") {
      grpc_later.push_back(reply.later());
    } else if (context.path == "/test.Echo/Fail") {
      reply.response.status = {GrpcCode::kInvalidArgument, "50% wr\xc3\xb6ng", "details"};
    } else {
      reply.response.message.append(message);
    }
  }

  MethodKind method_kind(std::string_view path, const Peer&) const override {
    if (path == "/test.Echo/Stream" || path == "/test.Echo/Many") return MethodKind::kStreaming;
    return path.starts_with("/test.Echo/") ? MethodKind::kUnary : MethodKind::kUnknown;
  }

  std::unique_ptr<GrpcStreamHandler> open_stream(const GrpcContext& context, GrpcStream& stream) override {
    requests.emplace_back(context.path);
    if (context.path == "/test.Echo/Many") return std::make_unique<Many>(*this, stream);
    return std::make_unique<Twice>(*this, stream);
  }

  std::unique_ptr<RedisHandler> open_redis(const Peer&) override { return std::make_unique<Echo>(*this); }

  bool is_busy() const override { return busy; }

  std::string header(std::string_view name) const {
    const auto found = std::ranges::find(last_headers, name, &std::pair<std::string, std::string>::first);
    return found == last_headers.end() ? "(none)" : found->second;
  }

  std::vector<std::string> requests;  // "POST /v1/x?a=b", or a gRPC path
  std::vector<std::pair<std::string, std::string>> last_headers;
  std::int64_t last_deadline_us = 0;
  std::string last_idempotency_key;
  std::uint32_t last_idempotency_keys = 0;
  std::vector<HttpReply::Later> http_later;
  std::vector<GrpcReply::Later> grpc_later;
  std::vector<RedisReply::Later> redis_later;
  bool busy = false;
  bool redis_busy = false;  // its Redis handlers wait for themselves
  int open_streams = 0;
  bool recognises = false;  // its peers are not strangers
  int many_sent = 0;
  static constexpr std::size_t kManyBytes = 1000;  // of each message

 private:
  class Echo final : public RedisHandler {
   public:
    explicit Echo(TestApplication& application) : application_(application) {}
    bool handle(std::span<const std::string_view> words, RedisReply& reply) override {
      if (words[0] == "later") {
        application_.redis_later.push_back(reply.later());
        return true;
      }
      reply.response.append("+").append(words.back()).append("\r\n");
      return words[0] != "quit";
    }
    bool is_busy() const override { return application_.redis_busy; }

   private:
    TestApplication& application_;
  };

  class Many final : public GrpcStreamHandler {
   public:
    Many(TestApplication& application, GrpcStream& stream) : application_(application), stream_(stream) {}
    void on_message(std::string_view message) override { wanted_ = std::stoi(std::string(message)); }
    void on_half_close() override { on_room(); }
    void on_room() override {
      for (; application_.many_sent < wanted_ && stream_.has_room(); ++application_.many_sent) {
        std::string message = std::to_string(application_.many_sent);
        message.resize(kManyBytes, '.');
        stream_.send(message);
      }
      if (application_.many_sent == wanted_) stream_.finish({});
    }

   private:
    TestApplication& application_;
    GrpcStream& stream_;
    int wanted_ = 0;
  };

  class Twice final : public GrpcStreamHandler {
   public:
    Twice(TestApplication& application, GrpcStream& stream) : application_(application), stream_(stream) {
      ++application_.open_streams;
    }
    ~Twice() override { --application_.open_streams; }
    void on_message(std::string_view message) override {
      stream_.send(message);
      stream_.send(message);
    }
    void on_half_close() override { stream_.finish({}); }

   private:
    TestApplication& application_;
    GrpcStream& stream_;
  };
};

}  // namespace sluice::net

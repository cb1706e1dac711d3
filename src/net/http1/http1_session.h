#pragma once

#include <string>

#include "net/http1/http1_chunked.h"
#include "net/http1/http1_parser.h"
#include "net/session.h"

namespace sluice::net {

// HTTP/1.1 and 1.0 on one connection. Not thread-safe.
//
// Requests are answered in order, one at a time: while an answer is deferred, pipelined requests wait in the
// input. A request that arrives whole is handled in the receive buffer, without a copy. Protocol violations
// are answered with a problem document, and then the connection is closed: after a framing error it is
// unknown where the next request begins.
class Http1Session final : public Session, private Waiter<HttpResponse> {
 public:
  Http1Session(SessionContext& context, SessionHost& host, const Peer& peer);
  ~Http1Session() override;

  void receive(std::span<char> bytes, std::string& out) override;
  void resume(std::string& out) override;
  void tick(std::string& out) override;
  void drain(std::string& out) override;
  void end_of_input() override;
  bool finished() const override { return finished_; }
  // While an answer is deferred, a peer that pipelines without end must wait.
  bool wants_input() const override {
    return input_.size() <= kUnreadOutputBytesMax || !(deferred_ || answer_ready_);
  }
  bool idle() const override { return !deferred_ && !answer_ready_ && input_.empty() && !in_chunked_body_; }
  bool owes_answer() const override { return deferred_ || answer_ready_; }
  std::size_t held_bytes() const override {
    return (input_.empty() ? 0 : heap_bytes(input_)) + (answer_ready_ ? heap_bytes(response_.body) : 0) +
           (in_chunked_body_ ? heap_bytes(chunked_head_) + heap_bytes(chunked_body_) : 0) + waiting_bytes_;
  }
  void shed(std::string& out) override;

 private:
  // Handles as many complete requests as there are; returns the bytes used.
  std::size_t process(std::span<char> bytes, std::string& out);
  // Handles one request, or a part of it; returns the bytes used. 0: more bytes are needed.
  std::size_t take_request(std::span<char> bytes, std::string& out);
  std::size_t take_chunks(std::span<char> bytes, std::string& out);
  void process_input(std::string& out);
  void handle(const Http1Head& head, std::string_view body, std::string& out);
  void send_answer(std::string& out);
  void forget_request();
  void refuse(int status, std::string_view detail, std::string& out);
  void send_continue(std::string& out);
  bool stopped(const std::string& out) const;
  bool may_go() const;  // a drain no longer waits for one more request
  void look_for_room(const std::string& out);

  void finish(HttpResponse&& response) override;

  SessionContext& context_;
  SessionHost& host_;
  const Peer& peer_;
  HttpResponse response_;
  DeferredAnswers::Entry* deferred_ = nullptr;

  std::string input_;             // received and not yet handled
  std::size_t needed_bytes_ = 0;  // the request at the front of input_ needs at least this many
  std::string chunked_head_;
  std::string chunked_body_;
  ChunkedDecoder chunked_;
  // Of the request whose answer is deferred: the application keeps parts of it.
  std::size_t waiting_bytes_ = 0;
  // The first byte of the unfinished request, or the end of the last one.
  std::int64_t active_since_us_;

  bool in_chunked_body_ = false;
  bool continue_sent_ = false;
  bool answer_ready_ = false;  // a deferred answer waits in response_
  bool awaits_room_ = false;   // input_ may hold complete requests; the peer has to read first
  bool head_only_ = false;     // of the current request
  bool keep_alive_ = true;
  bool http_1_0_ = false;
  bool draining_ = false;
  bool input_ended_ = false;
  bool finished_ = false;
};

}  // namespace sluice::net

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "net/session.h"
#include "net/testing/http2_client.h"

namespace sluice::net {

// Random traffic on connections of all three protocols, with any application: requests that arrive whole, in
// pieces or incomplete; answers now, later, or after the client has disconnected; cancelled streams,
// connections that are cut or shed, time that passes. The invariant: when everything is answered or closed,
// nothing is held. Not thread-safe.
class AccountStorm {
 public:
  // The requests of clients, and how the application gives its pending answers.
  struct Words {
    std::vector<std::string> http1;                                       // complete requests
    std::vector<std::pair<Http2TestClient::Headers, std::string>> http2;  // head and body
    std::vector<std::string> redis;                                       // commands
    std::string redis_end;                                                // ends what a command has begun
    std::function<void(std::uint64_t random)> answer;
  };

  // REQUIRES: the context's clock is `clock`; both outlive it.
  AccountStorm(SessionContext& context, ManualClock& clock, Words words, std::uint64_t seed)
      : context_(context), clock_(clock), words_(std::move(words)), random_(seed) {
    for (int i = 0; i < 3; ++i) {
      lines_.push_back(make_line(Protocol::kHttp1));
      lines_.push_back(make_line(Protocol::kRedis));
    }
  }

  void rage(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
      for (auto& line : lines_)
        if (line->session->finished()) line = make_line(line->protocol);
      if (http2_->session.finished()) make_http2();
      held_most_ = std::max(held_most_, held());
    }
  }

  // All requests are completed, all are answered, all streams end: nothing is held.
  void expect_nothing_held() {
    for (auto& line : lines_)
      if (line->protocol == Protocol::kRedis) line->to_say += words_.redis_end;
    for (int i = 0; i < 1'000 && !is_calm(); ++i) {
      words_.answer(random_());
      for (auto& line : lines_) talk(*line, line->to_say.size());
    }
    for (const std::int32_t id : ids_) {
      cancel(id);
      pass_time(1'000'000);
    }
    for (const auto& line : lines_)
      if (!line->session->finished()) EXPECT_EQ(line->session->held_bytes(), 0u) << name_of(line->protocol);
    EXPECT_EQ(http2_->session.held_bytes(), 0u);
    EXPECT_EQ(context_.deferred.open_count(), 0u);
    EXPECT_EQ(unruly_ + is_unruly(), 0) << "no client was unruly";
    EXPECT_GT(held_most_, 10'000u) << "much was held meanwhile";
  }

 private:
  static constexpr std::size_t kUnreadBytesMax = kConnectionOutputBytesMax / 4;

  // A connection with a text protocol, whose requests come one after the other.
  struct Line final : SessionHost {
    void output_ready() override { is_ready = true; }
    Protocol protocol = Protocol::kUndecided;
    std::unique_ptr<Session> session;
    std::string to_say;
    bool is_ready = false;
  };

  static const char* name_of(Protocol protocol) { return protocol == Protocol::kHttp1 ? "HTTP/1" : "Redis"; }

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  template <class T>
  const T& one_of(const std::vector<T>& many) {
    return many[below(many.size())];
  }

  std::unique_ptr<Line> make_line(Protocol protocol) {
    auto line = std::make_unique<Line>();
    line->protocol = protocol;
    line->session = make_session(protocol, context_, *line, kTestPeer);
    return line;
  }
  void make_http2() {
    unruly_ += is_unruly();
    http2_ = std::make_unique<Http2TestClient>(context_);
    ids_.clear();
    taken_ = 0;
  }

  // A GOAWAY without an error ends a connection that was idle for long.
  bool is_unruly() const { return http2_->goaways > 0 && http2_->goaway_code != NGHTTP2_NO_ERROR; }

  void step() {
    switch (below(9)) {
      case 0:
      case 1: {
        Line& line = *one_of(lines_);
        line.to_say += one_of(line.protocol == Protocol::kHttp1 ? words_.http1 : words_.redis);
        break;
      }
      case 2:
      case 3: {
        Line& line = *one_of(lines_);
        return talk(line, below(3) == 0 ? line.to_say.size() : below(200));
      }
      case 4: {
        const auto& [head, body] = one_of(words_.http2);
        ids_.push_back(http2_->request(head, body, below(3) == 0));
        break;
      }
      case 5:
        if (ids_.empty()) return;
        if (below(2) == 0) return cancel(one_of(ids_));
        http2_->upload(one_of(ids_), std::string(below(1'000), 'y'), below(2) == 0);
        break;
      case 6:
        words_.answer(random_());
        break;
      case 7:
        return end_one();
      default:
        return pass_time(below(10) == 0 ? 20'000'000 : 1'000'000);
    }
    run_http2();
  }

  // Delivers the client's next bytes, and takes the output.
  void talk(Line& line, std::size_t bytes) {
    std::string out;
    if (line.session->finished()) return;
    if (line.session->wants_input() && !line.to_say.empty()) {
      std::string piece = line.to_say.substr(0, bytes);
      line.to_say.erase(0, piece.size());
      line.session->receive({piece.data(), piece.size()}, out);
    }
    // All output is taken, so there is room again.
    while ((std::exchange(line.is_ready, false) || out.size() > kUnreadOutputBytesMax) &&
           !line.session->finished()) {
      out.clear();
      line.session->resume(out);
    }
  }

  void run_http2() {
    http2_->run();
    std::size_t bytes = 0;  // so that the connection's window is open again
    for (const auto& [id, answer] : http2_->answers) bytes += answer.body.size();
    nghttp2_session_consume_connection(http2_->client, bytes - std::exchange(taken_, bytes));
    http2_->run();
    if (http2_->session.held_bytes() > kUnreadBytesMax) read_all();
  }
  // Opens the windows of all streams until the server has sent everything.
  void read_all() {
    constexpr int kWindow = 1 << 20;
    for (const std::int32_t id : ids_)
      nghttp2_submit_window_update(http2_->client, NGHTTP2_FLAG_NONE, id, kWindow);
    nghttp2_submit_window_update(http2_->client, NGHTTP2_FLAG_NONE, 0, kWindow);
    http2_->run();
  }
  void cancel(std::int32_t id) {
    nghttp2_submit_rst_stream(http2_->client, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    run_http2();
  }

  // Cuts or sheds a connection.
  void end_one() {
    std::string out;
    if (below(8) == 0) {
      if (below(2) == 0) {
        http2_->session.shed(out);
        EXPECT_EQ(http2_->session.held_bytes(), 0u);
      }
      return make_http2();
    }
    auto& line = lines_[below(lines_.size())];
    if (below(2) == 0) {
      line->session->shed(out);
      EXPECT_EQ(line->session->held_bytes(), 0u) << name_of(line->protocol);
    }
    line = make_line(line->protocol);
  }

  void pass_time(std::int64_t us) {
    clock_.advance(us);
    context_.refresh_time();
    context_.deferred.expire_until(context_.now_us);
    std::string out;
    for (auto& line : lines_) line->session->tick(out);
    out.clear();
    http2_->session.tick(out);
    http2_->deliver(out);
    run_http2();
  }

  bool is_calm() const {
    for (const auto& line : lines_)
      if (!line->session->finished() && (!line->to_say.empty() || !line->session->idle())) return false;
    return true;
  }
  std::size_t held() const {
    std::size_t bytes = http2_->session.held_bytes();
    for (const auto& line : lines_) bytes += line->session->held_bytes();
    return bytes;
  }

  SessionContext& context_;
  ManualClock& clock_;
  const Words words_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::unique_ptr<Http2TestClient> http2_ = std::make_unique<Http2TestClient>(context_);
  std::vector<std::int32_t> ids_;  // of its streams, open or not
  std::size_t taken_ = 0;          // bytes of answers
  int unruly_ = 0;                 // HTTP/2 connections that were ended as abusive
  std::size_t held_most_ = 0;
};

}  // namespace sluice::net

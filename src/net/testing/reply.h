#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "net/reply.h"

namespace sluice::net {

// A reply that a test reads: whether the answer was postponed, and the answer itself. Not thread-safe. It
// must outlive the handle that later() gives.
//
//   TestReply<HttpResponse> reply;
//   application.handle_http(request, reply);
//   EXPECT_EQ(reply.answer().status, 200);
template <class Response>
class TestReply final : public Reply<Response> {
 public:
  TestReply() : Reply<Response>(at_once_) {}

  typename Reply<Response>::Later later() override {
    EXPECT_FALSE(is_late_) << "postponed twice";
    is_late_ = true;
    return [this](Response&& response) {
      EXPECT_FALSE(late_) << "answered twice";
      late_ = std::move(response);
    };
  }

  bool is_late() const { return is_late_; }
  bool is_answered() const { return !is_late_ || late_; }
  // REQUIRES: is_answered().
  const Response& answer() const {
    EXPECT_TRUE(is_answered());
    return is_late_ ? late_.value() : at_once_;
  }

 private:
  Response at_once_;
  std::optional<Response> late_;
  bool is_late_ = false;
};

}  // namespace sluice::net

#pragma once

#include <functional>

namespace sluice::net {

// How a handler answers one request: at once, by filling in `response`, or later. Belongs to its loop's
// thread, and lives only while the request is handled. Answering at once allocates nothing.
//
//   void handle(const HttpRequest& request, HttpReply& reply) {
//     if (request.path == "/now") reply.response.body = "at once";
//     if (request.path == "/later") waiting.push_back(reply.later());  // waiting.back()(std::move(response))
//   }
//
// Virtual, because handlers wrap replies: to add headers to an answer, or to join several answers to one.
template <class Response>
class Reply {
 public:
  // Answers once, from the loop's thread. Calling it again, or after the client has disconnected, is
  // harmless.
  using Later = std::function<void(Response&&)>;

  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  // Postpones the answer: `response` is ignored from then on. The views of the request are invalid when the
  // handler returns. REQUIRES: called at most once.
  virtual Later later() = 0;

  Response& response;

 protected:
  explicit Reply(Response& the_response) : response(the_response) {}
  ~Reply() = default;
};

}  // namespace sluice::net

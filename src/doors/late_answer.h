#pragma once

#include <functional>
#include <string>
#include <utility>

#include "doors/grpc_call.h"
#include "engine/limiter.h"
#include "net/http_api.h"

// Answers that are there at once or come later, by the same `write` in both cases. What `write` refers to
// must outlive the exchange; the request's views do not.
namespace sluice::doors {

using HttpDefer = std::function<net::Application::HttpLater()>;

// ask(postpone) is one of the Limiter's functions that take a postpone; write(const Result<…>&,
// net::HttpResponse&).
template <class Ask, class Write>
void answer_http(const Ask& ask, net::HttpResponse& response, const HttpDefer& defer, Write write) {
  const auto answer = ask([&] {
    return [later = defer(), write](const auto& late) {
      net::HttpResponse late_response;
      write(late, late_response);
      later(std::move(late_response));
    };
  });
  if (answer) write(*answer, response);
}

// The same for gRPC: write(const Result<…>&, std::string&) appends the message and returns the status.
template <class Ask, class Write>
net::GrpcStatus answer_grpc(const Ask& ask, std::string& reply, const GrpcDefer& defer, Write write) {
  const auto answer = ask([&] {
    return [later = defer(), write](const auto& late) {
      std::string message;
      const net::GrpcStatus status = write(late, message);
      later(status, message);
    };
  });
  return answer ? write(*answer, reply) : net::GrpcStatus{};
}

}  // namespace sluice::doors

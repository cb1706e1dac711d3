#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "doors/door_context.h"
#include "doors/grpc/grpc_call.h"
#include "engine/limiter.h"
#include "net/http/http_api.h"

// Answers that are ready at once or come later, written by the same `write` in both cases. What `write`
// refers to must outlive the exchange; the request's views do not.
namespace sluice::doors {

using HttpDefer = std::function<net::Application::HttpLater()>;

// ask(postpone) is one of the Limiter's functions that take a postpone. Signature: write(const Result<…>&,
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

// The same with an audit record: `record(result)` returns whether it recorded something. Then the answer
// waits until the record is written, so that everything that was answered is on record, whatever happens
// next.
template <class Ask, class Record, class Write>
void answer_http_recorded(DoorContext& context, const Ask& ask, net::HttpResponse& response,
                          const HttpDefer& defer, const Record& record, Write write) {
  const auto hold = [&context, record](const auto& result, const std::function<void()>& tell) {
    return record(result) && context.when_recorded && context.when_recorded(tell);
  };
  const auto telling = [write](const auto& result,
                               const std::shared_ptr<net::Application::HttpLater>& later) {
    return [write, result, later] {
      net::HttpResponse response_then;
      write(result, response_then);
      (*later)(std::move(response_then));
    };
  };
  const auto later = std::make_shared<net::Application::HttpLater>();
  const auto answer = ask([&] {
    *later = defer();
    return [hold, telling, later](const auto& late) {
      if (const auto tell = telling(late, later); !hold(late, tell)) tell();
    };
  });
  if (!answer) return;
  if (hold(*answer, telling(*answer, later)))
    *later = defer();
  else
    write(*answer, response);
}

template <class Ask, class Record, class Write>
net::GrpcStatus answer_grpc_recorded(DoorContext& context, const Ask& ask, std::string& reply,
                                     const GrpcDefer& defer, const Record& record, Write write) {
  const auto hold = [&context, record](const auto& result, const std::function<void()>& tell) {
    return record(result) && context.when_recorded && context.when_recorded(tell);
  };
  const auto telling = [write](const auto& result,
                               const std::shared_ptr<net::Application::GrpcLater>& later) {
    return [write, result, later] {
      std::string message;
      const net::GrpcStatus status = write(result, message);
      (*later)(status, message);
    };
  };
  const auto later = std::make_shared<net::Application::GrpcLater>();
  const auto answer = ask([&] {
    *later = defer();
    return [hold, telling, later](const auto& late) {
      if (const auto tell = telling(late, later); !hold(late, tell)) tell();
    };
  });
  if (!answer) return {};
  if (!hold(*answer, telling(*answer, later))) return write(*answer, reply);
  *later = defer();
  return {};
}

}  // namespace sluice::doors

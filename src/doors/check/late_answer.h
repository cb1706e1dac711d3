#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "doors/door_context.h"
#include "net/reply.h"

// Answers that are ready at once or come later, written by the same `write` in both cases. Signature:
// write(const Result<…>&, Response&). What it refers to must outlive the exchange; the request's views do
// not.
namespace sluice::doors {

// ask(postpone) is one of the engine's functions that take a postpone.
template <class Response, class Ask, class Write>
void answer(net::Reply<Response>& reply, const Ask& ask, Write write) {
  const auto result = ask([&] {
    return [later = reply.later(), write](const auto& late) {
      Response response;
      write(late, response);
      later(std::move(response));
    };
  });
  if (result) write(*result, reply.response);
}

// The same with an audit record: `record(result)` returns whether it recorded something. Then the answer
// waits until the record is written, so that everything that was answered is on record, whatever happens
// next.
template <class Response, class Ask, class Record, class Write>
void answer_recorded(DoorContext& context, net::Reply<Response>& reply, const Ask& ask, const Record& record,
                     Write write) {
  const auto hold = [&context, record](const auto& result, const std::function<void()>& tell) {
    return record(result) && context.when_recorded(tell);
  };
  const auto later = std::make_shared<typename net::Reply<Response>::Later>();
  const auto telling = [write, later](const auto& result) {
    return [write, later, result] {
      Response response;
      write(result, response);
      (*later)(std::move(response));
    };
  };
  const auto result = ask([&] {
    *later = reply.later();
    return [hold, telling](const auto& late) {
      if (const auto tell = telling(late); !hold(late, tell)) tell();
    };
  });
  if (!result) return;
  if (hold(*result, telling(*result)))
    *later = reply.later();
  else
    write(*result, reply.response);
}

}  // namespace sluice::doors

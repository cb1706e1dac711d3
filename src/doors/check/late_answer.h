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
  // True: there is a record to wait for, and `send` will be called when it is written.
  const auto waits = [&context, record](const auto& result, const std::function<void()>& send) {
    return record(result) && context.when_recorded(send);
  };
  // Filled in when the answer is postponed: by the engine, or by the wait for the record.
  const auto later = std::make_shared<typename net::Reply<Response>::Later>();
  const auto sending = [write, later](const auto& result) {
    return [write, later, result] {
      Response response;
      write(result, response);
      (*later)(std::move(response));
    };
  };
  const auto result = ask([&] {
    *later = reply.later();
    return [waits, sending](const auto& late) {
      if (const auto send = sending(late); !waits(late, send)) send();
    };
  });
  if (!result) return;
  if (waits(*result, sending(*result)))
    *later = reply.later();
  else
    write(*result, reply.response);
}

}  // namespace sluice::doors

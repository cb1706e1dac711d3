#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "loadgen/recorder.h"

namespace sluice::loadgen {

struct Call {
  std::int64_t intended_us = 0;
  std::uint32_t key = 0;
};

struct FinishedCall {
  std::int64_t intended_us = 0;
  CallOutcome outcome = CallOutcome::kFailed;
};

// The client's side of one connection, without the socket: calls go in, bytes come out; bytes go in, finished
// calls come out. Not thread-safe.
class Protocol {
 public:
  virtual ~Protocol() = default;

  // Begins a call, if the connection takes one more now.
  virtual bool start(const Call& call) = 0;
  // Appends what is to be sent.
  virtual void write(std::string& out) = 0;
  // Takes what was received; appends the calls that this finished. An error is a sentence, and the end of the
  // connection.
  virtual std::expected<void, std::string> read(std::string_view bytes,
                                                std::vector<FinishedCall>& finished) = 0;
  // True when the server has said that this connection takes no further calls.
  virtual bool closing() const = 0;
  // When the calls without an answer were meant to be sent.
  virtual void pending(std::vector<std::int64_t>& intended_us) const = 0;
  // Why the first call failed that did; empty: none has.
  virtual const std::string& first_failure() const = 0;
};

}  // namespace sluice::loadgen

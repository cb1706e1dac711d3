#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "loadgen/measure/recorder.h"

namespace sluice::loadgen {

struct Call {
  std::int64_t intended_us = 0;
  std::uint32_t key = 0;
};

struct FinishedCall {
  std::int64_t intended_us = 0;
  CallOutcome outcome = CallOutcome::kFailed;
};

// The client side of one connection, without the socket: calls go in, bytes come out; bytes go in, finished
// calls come out. Not thread-safe.
class Protocol {
 public:
  virtual ~Protocol() = default;

  // Starts a call, if the connection has room for one more now.
  virtual bool start(const Call& call) = 0;
  // Appends the bytes to send.
  virtual void write(std::string& out) = 0;
  // Takes received bytes and appends the calls that they finish. An error is a sentence, and ends the
  // connection.
  virtual std::expected<void, std::string> read(std::string_view bytes,
                                                std::vector<FinishedCall>& finished) = 0;
  // True if the server has said that this connection accepts no further calls.
  virtual bool closing() const = 0;
  // The intended send times of the calls without an answer.
  virtual void pending(std::vector<std::int64_t>& intended_us) const = 0;
  // Why the first failed call failed; empty: none has.
  virtual const std::string& first_failure() const = 0;
};

}  // namespace sluice::loadgen

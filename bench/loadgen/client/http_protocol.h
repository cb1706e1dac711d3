#pragma once

#include <deque>
#include <string>

#include "loadgen/client/protocol.h"
#include "loadgen/traffic/check_payload.h"

namespace sluice::loadgen {

// Checks as JSON over HTTP/1.1 with keep-alive; several calls at a time are pipelined. Not thread-safe.
// Supports only answers with Content-Length, which Sluice and any server with small constant answers send.
class HttpProtocol final : public Protocol {
 public:
  static constexpr std::size_t kAnswerBytesMax = 1 << 20;

  // `payload` must outlive this object.
  HttpProtocol(const Payload& payload, std::size_t pipelined);

  bool start(const Call& call) override;
  void write(std::string& out) override;
  std::expected<void, std::string> read(std::string_view bytes, std::vector<FinishedCall>& finished) override;
  bool closing() const override { return closing_; }
  void pending(std::vector<std::int64_t>& intended_us) const override;
  const std::string& first_failure() const override { return first_failure_; }

 private:
  struct Answer {
    int status = 0;
    bool close = false;
    std::string_view body;
    std::size_t bytes = 0;  // head and body
  };
  // The answer at the front of `text`; bytes == 0: not complete yet.
  static std::expected<Answer, std::string> parse(std::string_view text);
  CallOutcome outcome_of(const Answer& answer);

  const Payload& payload_;
  const std::size_t pipelined_;
  std::deque<std::int64_t> waiting_;  // the intended send times, oldest first
  std::string request_;
  std::string to_send_;
  std::string partial_;  // the beginning of an incomplete answer
  bool closing_ = false;
  std::string first_failure_;
};

}  // namespace sluice::loadgen

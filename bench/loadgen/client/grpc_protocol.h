#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "loadgen/client/protocol.h"
#include "loadgen/traffic/check_payload.h"

struct nghttp2_session;

namespace sluice::loadgen {

// What all gRPC calls of a connection have in common.
struct GrpcTarget {
  std::string authority;  // "127.0.0.1:8080"
  std::string path;       // "/sluice.v1.RateLimiter/CheckAndIncrement"
  bool is_check = true;   // the answer is a CheckResponse; otherwise status OK counts as allowed
};

// Unary gRPC calls over HTTP/2, using nghttp2; TLS is up to the Connection. Not thread-safe.
//
// Costs about a microsecond per call: the headers are the same bytes each time (HPACK sends an index for
// each), and a slot keeps its rendered request, in which only the key's digits change.
class GrpcProtocol final : public Protocol {
 public:
  // `target` and `payload` must outlive this object. At most `streams` calls run at a time.
  GrpcProtocol(const GrpcTarget& target, const Payload& payload, std::size_t streams);
  ~GrpcProtocol() override;

  bool start(const Call& call) override;
  void write(std::string& out) override;
  std::expected<void, std::string> read(std::string_view bytes, std::vector<FinishedCall>& finished) override;
  bool closing() const override { return closing_; }
  void pending(std::vector<std::int64_t>& intended_us) const override;
  const std::string& first_failure() const override { return first_failure_; }

 private:
  // One running call. The head of the answer is enough to see whether it was allowed.
  struct Slot {
    std::int64_t intended_us = 0;
    std::string request;
    std::size_t sent = 0;
    std::array<char, 8> answer{};
    std::size_t answer_bytes = 0;
    int http_status = 0;
    int grpc_status = -1;
    std::string grpc_message;
    bool busy = false;
  };
  struct Callbacks;  // callbacks for nghttp2, in the .cc file

  CallOutcome outcome_of(const Slot& slot, std::uint32_t http2_error);
  void finish(Slot& slot, std::uint32_t http2_error);

  const GrpcTarget& target_;
  const Payload& payload_;
  nghttp2_session* session_ = nullptr;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  std::vector<FinishedCall>* finished_ = nullptr;  // set while read() runs
  bool closing_ = false;
  std::string first_failure_;
};

}  // namespace sluice::loadgen

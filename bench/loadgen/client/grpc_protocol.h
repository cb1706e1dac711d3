#pragma once

#include <string>
#include <vector>

#include "loadgen/client/protocol.h"
#include "loadgen/traffic/check_payload.h"
#include "net/http2/grpc_client.h"

namespace sluice::loadgen {

// What all gRPC calls of a run have in common.
struct GrpcCalls {
  net::GrpcTarget target;
  std::string path;      // "/sluice.v1.RateLimiter/CheckAndIncrement"
  bool is_check = true;  // the answer is a CheckResponse; otherwise status OK counts as allowed
};

// Unary gRPC calls over HTTP/2; TLS is up to the Connection. Not thread-safe.
class GrpcProtocol final : public Protocol {
 public:
  // `calls` and `payload` must outlive this object. At most `streams` calls run at a time.
  GrpcProtocol(const GrpcCalls& calls, const Payload& payload, std::size_t streams)
      : calls_(calls), payload_(payload), streams_(streams), client_(calls.target) {}

  bool start(const Call& call) override;
  void write(std::string& out) override { client_.write(out); }
  std::expected<void, std::string> read(std::string_view bytes, std::vector<FinishedCall>& finished) override;
  bool closing() const override { return client_.is_closing(); }
  void pending(std::vector<std::int64_t>& intended_us) const override;
  const std::string& first_failure() const override { return first_failure_; }

 private:
  CallOutcome outcome_of(const net::GrpcResult& result);

  const GrpcCalls& calls_;
  const Payload& payload_;
  const std::size_t streams_;
  net::GrpcClient client_;  // calls by the time they were due
  std::string request_;     // the last one: only the digits of the key change
  std::string first_failure_;
};

}  // namespace sluice::loadgen

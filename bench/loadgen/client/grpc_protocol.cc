#include "loadgen/client/grpc_protocol.h"

namespace sluice::loadgen {

bool GrpcProtocol::start(const Call& call) {
  if (client_.running() == streams_) return false;
  payload_.render(call.key, request_);
  return client_.start(static_cast<std::uint64_t>(call.intended_us), calls_.path, request_);
}

std::expected<void, std::string> GrpcProtocol::read(std::string_view bytes,
                                                    std::vector<FinishedCall>& finished) {
  auto read = client_.read(bytes);
  client_.take_finished([&](std::uint64_t intended_us, const net::GrpcResult& result) {
    finished.push_back({static_cast<std::int64_t>(intended_us), outcome_of(result)});
  });
  return read;
}

void GrpcProtocol::pending(std::vector<std::int64_t>& intended_us) const {
  client_.each_running([&](std::uint64_t call) { intended_us.push_back(static_cast<std::int64_t>(call)); });
}

CallOutcome GrpcProtocol::outcome_of(const net::GrpcResult& result) {
  if (result.is_ok()) {
    const bool allowed = !calls_.is_check || grpc_answer_allows(result.body);
    return allowed ? CallOutcome::kAllowed : CallOutcome::kDenied;
  }
  if (first_failure_.empty()) first_failure_ = result.problem();
  return CallOutcome::kFailed;
}

}  // namespace sluice::loadgen

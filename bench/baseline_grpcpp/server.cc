// The yardstick: a gRPC server of the grpc++ callback API that does nothing. Every check gets the same
// answer, about as long as a real one; nothing is parsed and nothing is serialized. A unary handler on raw
// bytes is the cheapest server that this API offers: one with parsed messages costs about a tenth more, the
// generic service (a bidirectional stream for every call) about a quarter. grpc++ chooses its own number of
// threads.
//
//   grpcpp_baseline 127.0.0.1:9090
#include <grpcpp/grpcpp.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <string>

#include "baseline.grpc.pb.h"

namespace {

// A CheckResponse: allowed, remaining, reset_unix_ms, policy_version, limit, current, reason.
constexpr char kAnswer[] =
    "\x08\x01\x10\xa0\x8d\x06\x18\xc0\xf4\xa5\xe4\xb6\x31\x2a\x07"
    "bench#1\x38\xa0\x8d\x06\x40\x01\x5a\x02ok";

using RawRateLimiter =
    sluice::v1::RateLimiter::WithRawCallbackMethod_CheckAndIncrement<sluice::v1::RateLimiter::Service>;

class Service final : public RawRateLimiter {
 public:
  Service() : slice_(kAnswer, sizeof kAnswer - 1), answer_(&slice_, 1) {}
  grpc::ServerUnaryReactor* CheckAndIncrement(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                              grpc::ByteBuffer* answer) override {
    *answer = answer_;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  grpc::Slice slice_;
  grpc::ByteBuffer answer_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: grpcpp_baseline HOST:PORT\n";
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  Service service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(argv[1], grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server || port == 0) {
    std::cerr << "grpcpp_baseline: cannot listen on " << argv[1] << "\n";
    return 1;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  server->Shutdown();
  return 0;
}

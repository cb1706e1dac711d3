// The yardstick: a gRPC server of the grpc++ callback API that does nothing. Every call, whatever its method,
// gets the same answer, about as long as the answer to a check; nothing is parsed. One completion thread, as
// Sluice runs with one.
//
//   grpcpp_baseline 127.0.0.1:9090
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <string>

namespace {

// A CheckResponse: allowed, remaining, reset_unix_ms, policy_version, limit, current, reason.
constexpr char kAnswer[] =
    "\x08\x01\x10\xa0\x8d\x06\x18\xc0\xf4\xa5\xe4\xb6\x31\x2a\x07"
    "bench#1\x38\xa0\x8d\x06\x40\x01\x5a\x02ok";

class Reactor final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Reactor(const grpc::ByteBuffer& answer) : answer_(answer) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish({grpc::StatusCode::INVALID_ARGUMENT, "no message"});
    StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer request_;
  grpc::ByteBuffer answer_;
};

class Service final : public grpc::CallbackGenericService {
 public:
  Service() : slice_(kAnswer, sizeof kAnswer - 1), answer_(&slice_, 1) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Reactor(answer_);
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
  builder.RegisterCallbackGenericService(&service);
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

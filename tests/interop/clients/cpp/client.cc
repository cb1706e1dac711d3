// A client of Sluice in grpc++. docs/interop.md has the cases; tests/interop/cases.py says what must come of
// them.
//
//   client MODE ADDRESS [CA]
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "sluice/v1/rate_limiter.grpc.pb.h"

namespace {

using std::string;
using namespace std::chrono_literals;
namespace api = sluice::v1;

constexpr int kPatienceMs = 120'000;

string quoted(const string& text) {
  std::ostringstream out;
  out << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out << '\\';
    out << (static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
  }
  out << '"';
  return out.str();
}

// The message, and what can be read of its details.
string error_text(const grpc::Status& status) {
  string text = status.error_message() + " ";
  for (const char c : status.error_details()) text += c >= 0x20 && c < 0x7f ? c : ' ';
  return text;
}

void report(const string& name, const grpc::Status& status, const string& text = "") {
  std::cout << "{\"case\": " << quoted(name) << ", \"code\": " << status.error_code()
            << ", \"text\": " << quoted(status.ok() ? text : error_text(status)) << "}" << std::endl;
}

// A call's context with the deadline `ms` from now.
struct Context : grpc::ClientContext {
  explicit Context(int ms = kPatienceMs) { set_deadline(gpr_time_from_millis(ms, GPR_TIMESPAN)); }
};

api::CheckRequest one(const string& key) {
  api::CheckRequest request;
  request.set_policy_id("p");
  (*request.mutable_dimensions())["key"] = key;
  return request;
}

api::CheckRequest of_resource(std::size_t bytes) {
  api::CheckRequest request;
  request.set_resource(string(bytes, 'a'));
  return request;
}

class Client {
 public:
  explicit Client(const string& address,
                  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials(),
                  grpc::ChannelArguments arguments = {}) {
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(address, credentials, arguments);
    limiter_ = api::RateLimiter::NewStub(channel_);
  }

  grpc::Status check(Context& context, const api::CheckRequest& request, string& text) {
    api::CheckResponse answer;
    const grpc::Status status = limiter_->CheckAndIncrement(&context, request, &answer);
    text = string(answer.allowed() ? "true" : "false") + " of " + std::to_string(answer.limit());
    return status;
  }
  void report_check(const string& name, const api::CheckRequest& request, Context&& context = Context()) {
    string text;
    const grpc::Status status = check(context, request, text);
    report(name, status, text);
  }

  void report_batch(const string& name, Context&& context = Context()) {
    api::CheckBatchRequest request;
    for (int i = 0; i < 1000; ++i)
      *request.add_checks() = one(name + "-" + std::to_string(i) + "-" + string(100, 'k'));
    api::CheckBatchResponse answer;
    const grpc::Status status = limiter_->CheckBatch(&context, request, &answer);
    int allowed = 0;
    for (const auto& result : answer.results()) allowed += result.allowed();
    report(name, status, std::to_string(allowed) + " allowed");
  }

  // One message to a path that may take another.
  template <class Message>
  void report_sent(const string& name, const string& path, const Message& message) {
    Context context;
    grpc::TemplatedGenericStub<Message, api::CheckResponse> stub(channel_);
    api::CheckResponse answer;
    std::promise<grpc::Status> end;
    stub.UnaryCall(&context, path, grpc::StubOptions(), &message, &answer,
                   [&](const grpc::Status& status) { end.set_value(status); });
    report(name, end.get_future().get());
  }

  void report_list() {
    Context context;
    const auto stream = limiter_->ListPolicies(&context, api::ListPoliciesRequest());
    int count = 0;
    for (api::Policy policy; stream->Read(&policy);) ++count;
    report("server stream", stream->Finish(), std::to_string(count) + " policies");
  }

  void report_talk() {
    namespace reflection = grpc::reflection::v1;
    Context context;
    const auto stream = reflection::ServerReflection::NewStub(channel_)->ServerReflectionInfo(&context);
    reflection::ServerReflectionRequest request;
    request.set_list_services("");
    int count = 0;
    for (reflection::ServerReflectionResponse answer; count < 3; ++count)
      if (!stream->Write(request) || !stream->Read(&answer)) break;
    stream->WritesDone();
    report("both stream", stream->Finish(), std::to_string(count) + " answers");
  }

  // Watches until the deadline, or only for one message.
  void report_watch(const string& name, Context&& context, bool cancels) {
    const auto stub = grpc::health::v1::Health::NewStub(channel_);
    const auto stream = stub->Watch(&context, grpc::health::v1::HealthCheckRequest());
    for (grpc::health::v1::HealthCheckResponse answer; stream->Read(&answer);)
      if (cancels) context.TryCancel();
    report(name, stream->Finish());
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<api::RateLimiter::Stub> limiter_;
};

struct WithMetadata : Context {
  explicit WithMetadata(std::size_t bytes) {
    AddMetadata("x-big", string(bytes, 'm'));
    AddMetadata("x-binary-bin", string("\0\xff", 2));
  }
};

struct Gzip : Context {
  Gzip() { set_compression_algorithm(GRPC_COMPRESS_GZIP); }
};

void calls(const string& address) {
  Client client(address);
  client.report_check("unary", one("unary"));
  client.report_batch("large message");
  client.report_list();
  client.report_talk();
  client.report_watch("deadline", Context(300), false);
  api::CheckRequest request;
  request.set_policy_id("nobody");
  client.report_check("not found", request);
  request.set_policy_id("p");
  request.set_cost(-1);
  client.report_check("invalid argument", request);
  client.report_sent("unknown method", "/sluice.v1.RateLimiter/Nothing", one("x"));
  client.report_sent("unknown service", "/nobody.v1.Nothing/At", one("x"));
  // To a server, field 2 is an entry of a map; this one claims more bytes than there are.
  api::Policy policy;
  policy.set_document("\n\x7f");
  client.report_sent("malformed message", "/sluice.v1.RateLimiter/CheckAndIncrement", policy);
  client.report_check("too large", of_resource(2 << 20));
  client.report_check("big metadata", one("big"), WithMetadata(12 << 10));
  client.report_check("too big metadata", one("big"), WithMetadata(64 << 10));
  client.report_check("after it", one("after"));
  client.report_batch("gzip", Gzip());
  client.report_check("gzip bomb", of_resource(8 << 20), Gzip());
}

void slow(const string& address) {
  Client client(address);
  client.report_watch("cancelled stream", Context(), true);
  Context context;
  std::thread canceller([&] {
    std::this_thread::sleep_for(300ms);
    context.TryCancel();
  });
  string text;
  const grpc::Status status = client.check(context, one("cancel"), text);
  canceller.join();
  report("cancelled call", status, text);
  client.report_check("deadline", one("deadline"), Context(300));
  client.report_check("after both", one("after"));
}

void tls(const string& address, const string& ca) {
  grpc::ChannelArguments named;
  named.SetSslTargetNameOverride("localhost");
  std::ifstream file(ca);
  const string roots(std::istreambuf_iterator<char>(file), {});
  Client(address, grpc::SslCredentials({roots, "", ""}), named).report_check("tls", one("tls"));
  Client(address, grpc::SslCredentials({}), named).report_check("tls, unknown authority", one("tls"));
}

// Keeps eight calls under way until one fails, and tells how each ended.
void drain(const string& address) {
  Client client(address);
  client.report_check("before the drain", one("load"));
  std::mutex mutex;
  std::map<int, int> counts;
  const auto work = [&] {
    for (bool ok = true; ok;) {
      Context context;
      string text;
      const grpc::Status status = client.check(context, one("load"), text);
      ok = status.ok();
      const std::scoped_lock lock(mutex);
      ++counts[status.error_code()];
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 8; ++i) workers.emplace_back(work);
  }
  std::ostringstream text;
  for (const auto& [code, count] : counts)
    text << (text.tellp() > 0 ? ", " : "{") << '"' << code << "\": " << count;
  report("drain", grpc::Status::OK, text.str() + "}");
}

void idle(const string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  Client client(address, grpc::InsecureChannelCredentials(), arguments);
  client.report_check("before the pings", one("idle"));
  std::this_thread::sleep_for(25s);
  client.report_check("after the pings", one("idle"));
}

}  // namespace

int main(int, char** arguments) {
  const string mode = arguments[1];
  if (mode == "calls") calls(arguments[2]);
  if (mode == "slow") slow(arguments[2]);
  if (mode == "tls") tls(arguments[2], arguments[3]);
  if (mode == "drain") drain(arguments[2]);
  if (mode == "idle") idle(arguments[2]);
}

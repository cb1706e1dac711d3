#include "doors/grpc/grpc_health.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>

#include "doors/door_context.h"
#include "doors/handlers.h"
#include "doors/http/problem.h"
#include "net/grpc/protobuf_wire.h"

namespace sluice::doors {
namespace {

// The service that a HealthCheckRequest names; nullopt if it is malformed.
std::optional<std::string_view> read_service(std::string_view message) {
  std::string_view service;
  net::WireReader reader(message);
  while (reader.next())
    if (reader.field() == 1) service = reader.string();
  if (!reader.ok()) return std::nullopt;
  return service;
}

}  // namespace

// "ratelimit" is the service name of envoyproxy/ratelimit.
Health::Name Health::read_name(std::string_view service) {
  constexpr std::array<std::string_view, 7> kServices = {"",
                                                         "sluice.v1.RateLimiter",
                                                         "sluice.compat.v1.Allow",
                                                         "sluice.compat.v1.Quota",
                                                         "ratelimiter.v1.RateLimiterService",
                                                         "ratelimit",
                                                         "envoy.service.ratelimit.v3.RateLimitService"};
  if (service == "sluice.store") return Name::kStore;
  return std::ranges::find(kServices, service) != kServices.end() ? Name::kService : Name::kUnknown;
}

// One Watch call. After the first answer it sends only changes of the status.
class Health::Watcher final : public net::GrpcStreamHandler {
 public:
  Watcher(Health& health, net::GrpcStream& stream) : health_(health), stream_(stream) {
    health_.watchers_.push_back(this);
  }
  ~Watcher() override { std::erase(health_.watchers_, this); }

  void on_message(std::string_view message) override {
    if (state_ != State::kAwaitsRequest) return;
    const auto service = read_service(message);
    if (!service) {
      state_ = State::kFinished;
      return stream_.finish(grpc_status(malformed_message()));
    }
    name_ = read_name(*service);
    state_ = State::kWatching;
    send(health_.status(name_));
  }
  void on_half_close() override {
    if (state_ != State::kAwaitsRequest) return;
    state_ = State::kFinished;
    stream_.finish(grpc_status(malformed_message()));
  }

  void update(const Readiness& readiness) {
    if (state_ != State::kWatching) return;
    if (const Status now = status(name_, readiness); now != sent_) send(now);
  }

 private:
  enum class State : std::uint8_t { kAwaitsRequest, kWatching, kFinished };

  void send(Status status) {
    sent_ = status;
    std::string reply;
    write(status, reply);
    stream_.send(reply);
  }

  Health& health_;
  net::GrpcStream& stream_;
  State state_ = State::kAwaitsRequest;
  Name name_ = Name::kUnknown;
  Status sent_ = Status::kUnknown;
};

Health::~Health() { assert(watchers_.empty()); }

Health::Status Health::status(Name name, const Readiness& readiness) {
  if (name == Name::kUnknown) return Status::kServiceUnknown;
  const bool is_well = readiness.ready && (name != Name::kStore || !readiness.degraded);
  return is_well ? Status::kServing : Status::kNotServing;
}

void Health::write(Status status, std::string& out) {
  net::WireWriter(out).uint64(1, static_cast<std::uint64_t>(status));
}

void Health::check(std::string_view message, net::GrpcResponse& response) const {
  const auto service = read_service(message);
  if (!service) return write_problem(malformed_message(), response);
  const Name name = read_name(*service);
  if (name == Name::kUnknown)
    response.status = {net::GrpcCode::kNotFound, "unknown service \"" + std::string(*service) + "\"", {}};
  else
    write(status(name), response.message);
}

std::unique_ptr<net::GrpcStreamHandler> Health::watch(net::GrpcStream& stream) {
  return std::make_unique<Watcher>(*this, stream);
}

void Health::publish() {
  if (watchers_.empty()) return;
  const Readiness now = options_.readiness();
  // Backwards, by index: a send may remove watchers, and this way none of the others is skipped.
  for (std::size_t i = watchers_.size(); i-- > 0;)
    if (i < watchers_.size()) watchers_[i]->update(now);
}

Result<void> grpc_check_health(DoorContext& context, const Caller&, const GrpcCall& call) {
  context.health.check(call.message, call.reply.response);
  return {};
}

std::unique_ptr<net::GrpcStreamHandler> grpc_watch_health(DoorContext& context, const net::GrpcContext&,
                                                          net::GrpcStream& stream) {
  return context.health.watch(stream);
}

}  // namespace sluice::doors

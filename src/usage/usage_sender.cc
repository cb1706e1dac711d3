#include "usage/usage_sender.h"

#include <fmt/format.h>

#include <optional>
#include <random>
#include <utility>
#include <variant>

#include "base/limits/usage_limits.h"
#include "usage/kafka/kafka_sink.h"
#include "usage/redis/stream_sink.h"

namespace sluice::usage {
namespace {

// Different for every node and every run.
std::string random_node() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace

UsageSender::UsageSender(Options options) : options_(std::move(options)) {}

Result<std::unique_ptr<UsageSender>> UsageSender::start(Options options) {
  std::unique_ptr<UsageSender> sender(new UsageSender(std::move(options)));
  const Options& o = sender->options_;
  std::optional<Error> error;
  const auto make_sink = [&](UsageSink::OnDone on_done) -> std::unique_ptr<UsageSink> {
    if (const auto* const stream = std::get_if<StreamTarget>(&o.target.server))
      return std::make_unique<StreamSink>(*stream, o.clock, std::move(on_done));
    auto kafka = KafkaSink::make(std::get<KafkaTarget>(o.target.server), o.clock, std::move(on_done));
    if (kafka) return std::move(*kafka);
    error = std::move(kafka.error());
    return nullptr;
  };
  UsagePump::Parts parts{.clock = o.clock,
                         .node = random_node(),
                         .secrets = o.secrets.get(),
                         .backlog_bytes = o.queue_bytes,
                         .name = o.target.to_string(),
                         .log = o.log};
  sender->pump_ = std::make_unique<UsagePump>(std::move(parts), make_sink);
  if (error) return std::unexpected(std::move(*error));
  sender->thread_ = std::thread([raw = sender.get()] { raw->run(); });
  return sender;
}

UsageSender::~UsageSender() { stop(0); }

void UsageSender::run() {
  while (stop_at_us_.load(std::memory_order_acquire) == kNotStopped) pump_->turn(kUsageLookMs);
  pump_->hurry();
  do pump_->turn(kUsageLookMs);
  while (!pump_->is_empty() && options_.clock.now_us() < stop_at_us_.load(std::memory_order_relaxed));
}

std::size_t UsageSender::stop(std::int64_t give_up_at_us) {
  if (thread_.joinable()) {
    stop_at_us_.store(give_up_at_us, std::memory_order_release);
    thread_.join();
  }
  return pump_->waiting();
}

}  // namespace sluice::usage

#include "telemetry/trace/otlp_exporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <utility>

#include "base/limits/trace_limits.h"
#include "telemetry/prometheus.h"

namespace sluice {
namespace {

constexpr int kCollectEveryMs = 200;
constexpr std::int64_t kPatienceUs = 10'000'000, kPatienceAtEndUs = 1'000'000;

ExportRetry::Random retry_random() {
  return [random = std::mt19937_64(std::random_device()())](std::uint64_t below) mutable {
    return random() % below;
  };
}

redis::Address address_of(const OtlpTarget& target) {
  redis::Address address{.host = target.server.host};
  std::from_chars(target.server.port.data(), target.server.port.data() + target.server.port.size(),
                  address.port);
  if (target.server.tls) address.tls = target.tls;
  return address;
}

// The head of every request, up to the length of its body.
std::string head_of(const OtlpTarget& target, std::string_view version) {
  std::string head = fmt::format(
      "POST {} HTTP/1.1\r\nhost: {}\r\nuser-agent: sluice/{}\r\ncontent-type: application/x-protobuf\r\n"
      "connection: close\r\n",
      target.path, target.server.authority(), version);
  for (const auto& [name, value] : target.headers)
    head.append(name).append(": ").append(value).append("\r\n");
  return head + "content-length: ";
}

// One request on a connection of its own.
class Exchange final : public redis::ChannelEvents {
 public:
  Exchange(std::string& request, std::string& bytes) : request_(request), bytes_(bytes) {}

  void begin(redis::Transport& transport, const redis::Address& address) {
    channel_ = transport.connect(address, *this, why_);
    ended_ = !channel_;
  }
  bool is_over() {
    if (!answer_) answer_ = read_otlp_answer(bytes_, ended_);
    return answer_.has_value();
  }
  // REQUIRES: is_over()
  const OtlpAnswer& answer() const { return *answer_; }
  const std::string& why() const { return why_; }

 private:
  void on_connected() override { channel_->send(request_); }
  void on_bytes(std::string_view bytes) override {
    bytes_.append(bytes.substr(0, kOtlpAnswerBytesMax - std::min(bytes_.size(), kOtlpAnswerBytesMax)));
    ended_ |= bytes_.size() >= kOtlpAnswerBytesMax;
  }
  void on_closed(std::string_view why) override {
    why_ = why;
    ended_ = true;
  }

  const std::string& request_;
  std::string& bytes_;
  std::unique_ptr<redis::Channel> channel_;
  std::optional<OtlpAnswer> answer_;
  std::string why_;
  bool ended_ = false;
};

}  // namespace

OtlpExporter::OtlpExporter(OtlpTarget target, Options options)
    : target_(std::move(target)),
      options_(std::move(options)),
      request_head_(head_of(target_, options_.version)),
      batch_(target_.resource, options_.version),
      retry_(retry_random()),
      thread_([this] { run(); }) {}

OtlpExporter::~OtlpExporter() {
  stopping_ = true;
  loop_.wake();
  thread_.join();
}

SpanRing& OtlpExporter::add_ring() {
  const Lock lock(mutex_);
  return *rings_.emplace_back(std::make_unique<SpanRing>(kSpanRingSize));
}

void OtlpExporter::run() {
  while (!stopping_) {
    loop_.wait(kCollectEveryMs);
    loop_.dispatch();
    collect();
    while (!stopping_ && batch_.size() > 0 && options_.clock.now_us() >= retry_.next_try_us() &&
           send(kPatienceUs))
      collect();
  }
  collect();
  const std::int64_t end_us = options_.clock.now_us() + kPatienceAtEndUs;
  while (batch_.size() > 0 && options_.clock.now_us() < end_us && send(end_us - options_.clock.now_us()))
    collect();
}

// Fills the batch, taking turns between the rings.
void OtlpExporter::collect() {
  const Lock lock(mutex_);
  for (const auto& ring : rings_) {
    const std::size_t room = kSpansPerExport - std::min(batch_.size(), kSpansPerExport);
    ring->read(room, [this](const Span& span) { batch_.add(span); });
  }
}

// Returns true if the batch is gone, however.
bool OtlpExporter::send(std::int64_t patience_us) {
  std::string bytes, why;
  const OtlpAnswer answer = post(batch_.finish(), patience_us, bytes, why);
  settle(answer, why);
  return batch_.size() == 0;
}

// The answer points into `bytes`.
OtlpAnswer OtlpExporter::post(const std::string& message, std::int64_t patience_us, std::string& bytes,
                              std::string& why) {
  std::string request = request_head_ + std::to_string(message.size()) + "\r\n\r\n" + message;
  Exchange exchange(request, bytes);
  exchange.begin(transport_, address_of(target_));
  const bool was_stopping = stopping_;
  const std::int64_t end_us = options_.clock.now_us() + patience_us;
  while (!exchange.is_over()) {
    const std::int64_t left_us = end_us - options_.clock.now_us();
    // A stop shortens the wait for an answer: run() sends once more.
    if (left_us <= 0 || stopping_ != was_stopping) {
      why = "no answer in time";
      return {};
    }
    loop_.wait(static_cast<int>(std::min<std::int64_t>(left_us / 1'000 + 1, kCollectEveryMs)));
    loop_.dispatch();
  }
  why = exchange.why();
  return exchange.answer();
}

void OtlpExporter::settle(const OtlpAnswer& answer, const std::string& why) {
  ++exports_;
  const auto next = retry_.after(answer, options_.clock.now_us());
  say(next == ExportRetry::Next::kDone, answer.status == 0 ? (why.empty() ? "it closed the connection" : why)
                                                           : fmt::format("status {}", answer.status));
  if (next != ExportRetry::Next::kDone) ++failures_;
  if (next == ExportRetry::Next::kAgain) return;
  const std::uint64_t refused = next == ExportRetry::Next::kDone
                                    ? std::min<std::uint64_t>(rejected_spans(answer.body), batch_.size())
                                    : 0;
  (next == ExportRetry::Next::kDone ? exported_ : lost_) += batch_.size() - refused;
  rejected_ += refused;
  batch_.clear();
}

void OtlpExporter::say(bool works, const std::string& why) {
  if (works == std::exchange(works_, works)) return;
  const std::string where = target_.server.authority();
  if (works)
    options_.log(LogEvent::kTracesRecovered, fmt::format("spans are exported to {} again", where),
                 {{"server", where}});
  else
    options_.log(
        LogEvent::kTracesFailed,
        fmt::format("cannot export spans to {} ({}); checks are not affected; check --otlp and the collector",
                    where, why),
        {{"server", where}});
}

std::string OtlpExporter::metrics() const {
  std::uint64_t dropped = 0, held_back = 0, waiting = 0;
  {
    const Lock lock(mutex_);
    for (const auto& ring : rings_) {
      dropped += ring->dropped();
      held_back += ring->held_back();
      waiting += ring->waiting();
    }
  }
  PrometheusText text;
  text.family("rate_limiter_trace_spans_exported_total", "counter", "Spans that the collector has taken.");
  text.sample({}, exported_);
  text.family("rate_limiter_trace_spans_dropped_total", "counter", "Spans that were lost, by reason.");
  text.sample({{"reason", "queue_full"}}, dropped);
  text.sample({{"reason", "rate"}}, held_back);
  text.sample({{"reason", "not_delivered"}}, lost_);
  text.sample({{"reason", "refused"}}, rejected_);
  text.family("rate_limiter_trace_spans_waiting", "gauge", "Spans that wait for the exporter.");
  text.sample({}, waiting);
  text.family("rate_limiter_trace_exports_total", "counter", "Requests to the collector, by how they ended.");
  const std::uint64_t failures = failures_;
  text.sample({{"result", "ok"}}, exports_ - failures);
  text.sample({{"result", "failed"}}, failures);
  return std::move(text).take();
}

}  // namespace sluice

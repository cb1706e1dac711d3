#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log/log_event.h"
#include "base/mutex.h"
#include "net/socket/event_loop.h"
#include "net/socket/tcp_transport.h"
#include "telemetry/trace/export_retry.h"
#include "telemetry/trace/otlp_target.h"
#include "telemetry/trace/span_ring.h"

namespace sluice {

// Sends spans to a collector by OTLP over HTTP, on a thread of its own. Thread-safe.
//
//   OtlpExporter exporter(target, {.clock = clock, .log = log_writer(), .version = "0.1.0"});
//   SpanRing& ring = exporter.add_ring();     // one for each loop thread, which writes into it
//
// It collects spans five times a second and sends at most kSpansPerExport at once. While the collector does
// not answer, rings fill up and drop new spans: that is counted, and nothing else happens. At the end it
// tries once more to send what waits, for at most a second.
class OtlpExporter {
 public:
  struct Options {
    const Clock& clock;
    EventLog log;
    std::string version;  // of the program
  };
  OtlpExporter(OtlpTarget target, Options options);
  ~OtlpExporter();
  OtlpExporter(const OtlpExporter&) = delete;
  OtlpExporter& operator=(const OtlpExporter&) = delete;

  // Lives as long as the exporter.
  SpanRing& add_ring();

  // Families of the /metrics page.
  std::string metrics() const;

 private:
  void run();
  void collect();
  bool send(std::int64_t patience_us);
  OtlpAnswer post(const std::string& message, std::int64_t patience_us, std::string& bytes, std::string& why);
  void settle(const OtlpAnswer& answer, const std::string& why);
  void say(bool works, const std::string& why);

  const OtlpTarget target_;
  const Options options_;
  std::string request_head_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<SpanRing>> rings_ SLUICE_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> exported_ = 0, rejected_ = 0, lost_ = 0, exports_ = 0, failures_ = 0;
  std::atomic<bool> stopping_ = false;
  // Below: the thread's own.
  net::EventLoop loop_;
  net::TcpTransport transport_{loop_, "http/1.1"};
  OtlpEncoder batch_;
  ExportRetry retry_;
  bool works_ = true;
  std::thread thread_;
};

}  // namespace sluice

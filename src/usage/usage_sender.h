#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/secret/secret_ring.h"
#include "usage/target/usage_target.h"
#include "usage/usage_pump.h"

namespace sluice::usage {

// The thread of a node that sends its usage events. Thread-safe. Nothing that the server does, or fails to
// do, reaches the loops: they only ever write to their queues.
//
//   auto sender = UsageSender::start({*parse_usage_target(url), clock, secrets, queue_bytes, log});
//   EventQueue& queue = (*sender)->add_queue();     // for each loop
//   (*sender)->stop(give_up_at_us);                 // after the loops have ended
class UsageSender {
 public:
  struct Options {
    UsageTarget target;
    const Clock& clock;                         // outlives it
    std::shared_ptr<const SecretRing> secrets;  // of pseudonyms; null: values are sent as they are
    std::size_t queue_bytes;                    // for events that wait for the server
    UsagePump::Log log;
  };
  // kInvalidArgument and kUnavailable: events cannot be sent to such a server; the message says why.
  static Result<std::unique_ptr<UsageSender>> start(Options options);
  // Ends at once, whatever is waiting.
  ~UsageSender();
  UsageSender(const UsageSender&) = delete;
  UsageSender& operator=(const UsageSender&) = delete;

  EventQueue& add_queue() { return pump_->add_queue(); }
  // Sends what is waiting, until this time, and ends the thread. Reports how many events were not
  // acknowledged. REQUIRES: nobody pushes any more
  std::size_t stop(std::int64_t give_up_at_us);

  std::string metrics() const { return pump_->metrics(); }
  std::string problem() const { return pump_->problem(); }

 private:
  explicit UsageSender(Options options);
  void run();

  const Options options_;
  std::unique_ptr<UsagePump> pump_;
  static constexpr std::int64_t kNotStopped = INT64_MAX;
  std::atomic<std::int64_t> stop_at_us_ = kNotStopped;
  std::thread thread_;
};

}  // namespace sluice::usage

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <sluice/limiter.h>

// Writes a line for each denial and each trouble. One file without anything behind it: copy it, and change
// the words.
//
//   sluice::LoggingLimiter limiter(std::move(opened.limiter), [](std::string_view line) { my_log(line); });
//
//   sluice: denied by api.read#1, limit burst (20): limited, retry after 130 ms
//   sluice: no decision (allowed): the store did not decide; the policy's failure rule did
//
// A line never has the key, which may be an address or a token. Lines are bounded, because somebody who is
// denied may try very often: the first line of a second says how many of the second before were left out.
namespace sluice {

// A limiter that logs. Thread-safe.
class LoggingLimiter final : public Limiter {
 public:
  // Called on the thread that gets the answer; must not block or throw.
  using Write = std::function<void(std::string_view line)>;

  LoggingLimiter(std::unique_ptr<Limiter> inner, Write write, std::uint32_t lines_per_second = 10)
      : write_(std::move(write)), lines_per_second_(lines_per_second), inner_(std::move(inner)) {}

  Answer check(const Request& request) override {
    Answer answer = inner_->check(request);
    log(answer);
    return answer;
  }
  void check_async(const Request& request, Done done) override {
    inner_->check_async(request, [this, done = std::move(done)](const Answer& answer) {
      log(answer);
      done(answer);
    });
  }
  ResetAnswer reset(const Request& request) override {
    ResetAnswer answer = inner_->reset(request);
    if (answer.counters < 0) write("no reset: " + answer.message);
    return answer;
  }
  void close() override { inner_->close(); }
  bool sleep_until(std::chrono::steady_clock::time_point time) override { return inner_->sleep_until(time); }

 private:
  void log(const Answer& answer) {
    if (answer.trouble == Trouble::kClosed) return;
    if (answer.trouble != Trouble::kNone)
      return write("no decision (" + std::string(answer.allowed ? "allowed" : "denied") +
                   "): " + answer.message);
    if (answer.allowed) return;
    write("denied by " + std::string(answer.policy_version) + ", limit " + std::string(answer.limit_name) +
          " (" + std::to_string(answer.limit) + "): " + std::string(answer.reason) + ", retry after " +
          std::to_string(answer.retry_after.count()) + " ms");
  }

  void write(const std::string& words) {
    const std::int64_t second =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    std::string left_out;
    if (second_.exchange(second, std::memory_order_relaxed) != second) {
      const std::uint32_t before = lines_.exchange(0, std::memory_order_relaxed);
      if (before > lines_per_second_)
        left_out = " (" + std::to_string(before - lines_per_second_) + " lines were left out)";
    }
    if (lines_.fetch_add(1, std::memory_order_relaxed) < lines_per_second_)
      write_("sluice: " + words + left_out);
  }

  const Write write_;
  const std::uint32_t lines_per_second_;
  std::atomic<std::int64_t> second_ = 0;
  std::atomic<std::uint32_t> lines_ = 0;  // wanted in that second
  const std::unique_ptr<Limiter> inner_;  // last: until it is closed, answers may come
};

}  // namespace sluice

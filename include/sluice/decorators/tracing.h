#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <sluice/limiter.h>

// Gives every check a span of a trace. One file without anything behind it: copy it, and name the attributes
// as your traces do. It knows no tracing library; two small functions connect it to yours. With
// OpenTelemetry:
//
//   class OtelSpan final : public sluice::TracingLimiter::Span {
//    public:
//     explicit OtelSpan(std::string_view name) : span_(tracer()->StartSpan({name.data(), name.size()})) {}
//     ~OtelSpan() override { span_->End(); }
//     void set(std::string_view name, std::string_view value) override { span_->SetAttribute(…); }
//     …
//   };
//   sluice::TracingLimiter limiter(std::move(opened.limiter), [](std::string_view name) {
//     return std::make_unique<OtelSpan>(name);
//   });
//
// A span has no key, which may be an address or a token.
namespace sluice {

// A limiter whose checks are traced. Thread-safe.
class TracingLimiter final : public Limiter {
 public:
  // A span. It begins when it is made and ends when it is destroyed, on whichever thread has the answer.
  class Span {
   public:
    virtual ~Span() = default;
    virtual void set(std::string_view name, std::string_view value) = 0;
  };
  // Begins a span below the one that is current on this thread. Null: this check is not traced.
  using Begin = std::function<std::unique_ptr<Span>(std::string_view name)>;

  TracingLimiter(std::unique_ptr<Limiter> inner, Begin begin)
      : begin_(std::move(begin)), inner_(std::move(inner)) {}

  Answer check(const Request& request) override {
    const std::shared_ptr<Span> span = begin(request);
    Answer answer = inner_->check(request);
    describe(span.get(), answer);
    return answer;
  }
  void check_async(const Request& request, Done done) override {
    inner_->check_async(request,
                        [span = begin(request), done = std::move(done)](const Answer& answer) mutable {
                          describe(span.get(), answer);
                          span.reset();  // what `done` does is not part of it
                          done(answer);
                        });
  }
  ResetAnswer reset(const Request& request) override { return inner_->reset(request); }
  void close() override { inner_->close(); }
  bool sleep_until(std::chrono::steady_clock::time_point time) override { return inner_->sleep_until(time); }

 private:
  // Shared, because a std::function can be copied and what it holds must be, too.
  std::shared_ptr<Span> begin(const Request& request) const {
    std::shared_ptr<Span> span = begin_("sluice.check");
    if (span && !request.tenant.empty()) span->set("sluice.tenant", request.tenant);
    if (span && !request.resource.empty()) span->set("sluice.resource", request.resource);
    return span;
  }
  static void describe(Span* span, const Answer& answer) {
    if (!span) return;
    span->set("sluice.allowed", answer.allowed ? "true" : "false");
    span->set("sluice.reason", answer.reason);
    span->set("sluice.policy", answer.policy_version);
    span->set("sluice.limit", answer.limit_name);
    span->set("sluice.remaining", std::to_string(answer.remaining));
    if (answer.degraded) span->set("sluice.degraded", "true");
    if (answer.leased) span->set("sluice.leased", "true");
    if (answer.trouble != Trouble::kNone) span->set("error", answer.message);
  }

  const Begin begin_;
  const std::unique_ptr<Limiter> inner_;  // last: until it is closed, answers may come
};

}  // namespace sluice

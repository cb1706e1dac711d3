#include "doors/resp/redis_reset.h"

#include <memory>
#include <optional>
#include <utility>

#include "doors/resp/redis_reply.h"
#include "doors/resp/redis_throttle.h"

namespace sluice::doors {
namespace {

namespace reply = redis_reply;

// The keys of one command; for some of them the store answers later.
class Resets : public std::enable_shared_from_this<Resets> {
 public:
  Resets(DoorContext& context, ResetReport report, std::size_t keys)
      : context_(context), report_(std::move(report)), missing_(keys) {}

  void put(const Result<int>& existed) {
    --missing_;
    if (existed) {
      known_ += *existed;
      any_done_ = true;
    } else if (!problem_) {
      problem_ = existed.error();
    }
    if (missing_ > 0) return;
    recording_ = any_done_ && report_reset(context_.options, report_, known_) &&
                 context_.when_recorded([self = shared_from_this()] {
                   self->recording_ = false;
                   self->later(self->answer());
                 });
    if (!recording_ && later) later(answer());
  }
  // Also waits until the audit record is written, if that can be waited for.
  bool complete() const { return missing_ == 0 && !recording_; }
  // REQUIRES: complete.
  std::string answer() const {
    std::string out;
    if (problem_)
      reply::refuse(out, *problem_);
    else
      reply::integer(out, known_);
    return out;
  }

  net::RedisReply::Later later;  // set once an answer has to be waited for

 private:
  DoorContext& context_;
  const ResetReport report_;
  std::size_t missing_;
  int known_ = 0;
  bool any_done_ = false;
  bool recording_ = false;
  std::optional<Error> problem_;
};

}  // namespace

void reset_keys(DoorContext& context, const Caller& caller, const CompiledPolicy& policy,
                std::span<const std::string_view> keys, net::RedisReply& to) {
  std::string& out = to.response;
  if (context.options.admins_have_a_port)
    return reply::error(out, "NOPERM", "counters can be reset only on the port of --admin-listen");
  CheckRequest about_all{.own_policy = &policy};
  auto allowed = caller.permit_reset(about_all, "");
  if (!allowed) return reply::refuse(out, allowed.error());
  for (const std::string_view key : keys)
    if (auto good = check_throttle_key(key); !good) return reply::refuse(out, good.error());
  allowed->report.policy_id = policy.source.id;
  const auto resets = std::make_shared<Resets>(context, std::move(allowed->report), keys.size());
  for (const std::string_view key : keys) {
    const auto existed =
        context.engine.reset(allowed->permit, {.key = key, .own_policy = &policy}, allowed->reach,
                             [&] { return [resets](const Result<int>& late) { resets->put(late); }; });
    if (existed) resets->put(*existed);
  }
  if (resets->complete())
    out += resets->answer();
  else
    resets->later = to.later();
}

}  // namespace sluice::doors

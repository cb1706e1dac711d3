#include "redis/connection/connection.h"

#include <algorithm>
#include <utility>

namespace sluice::redis {
namespace {

constexpr std::uint64_t kRenewalRetryUs = 60'000'000;

}  // namespace

Connection::Connection(Transport& transport, const Clock& clock, ConnectionOptions options, Random random,
                       ConnectionEvents& events)
    : clock_(clock),
      options_(std::move(options)),
      random_(std::move(random)),
      events_(events),
      fixed_(options_.address),
      source_(options_.source != nullptr ? *options_.source : fixed_),
      sessions_{{transport, clock, options_, *this}, {transport, clock, options_, *this}} {}

void Connection::tick(std::int64_t now_us) {
  source_.tick(now_us);
  used_->tick(now_us);
  next_->tick(now_us);
  move_on_if_free();
  if (now_us < due_at_us_) return;
  if (phase_ == Phase::kWaiting) {
    phase_ = Phase::kFinding;
    source_.find(*this, address_failed_);
  } else if (phase_ == Phase::kReady && !renewing_) {
    renewing_ = true;
    source_.find(*this, false);
  }
}

void Connection::on_address(const Address& address) {
  if (phase_ == Phase::kFinding) {
    phase_ = Phase::kOpening;
    used_->open(address, source_.finds_masters());
  } else if (!same_place(address, used_->address())) {
    if (phase_ != Phase::kWaiting) return lose("the server is now at " + address.to_string(), Wait::kNone);
    due_at_us_ = clock_.now_us();
  } else if (renewing_ && !next_->is_open()) {
    next_->open(address, source_.finds_masters());
  }
}

void Connection::on_no_address(std::string_view why) {
  if (phase_ == Phase::kFinding) return lose(why, Wait::kShort);
  if (renewing_) postpone_renewal();
}

void Connection::on_session_ready(LoginSession& session) {
  if (&session == next_) return move_on_if_free();
  address_failed_ = false;
  useful_ = false;
  ready_at_us_ = clock_.now_us();
  begin_to_serve();
}

void Connection::on_session_reply(LoginSession&, std::span<const RespValue> reply) {
  events_.on_reply(reply);
  move_on_if_free();
}

void Connection::on_session_lost(LoginSession& session, std::string_view why, bool refused) {
  if (&session == next_) return postpone_renewal();
  lose(why, refused ? Wait::kLong : Wait::kShort);
}

void Connection::drop(std::string_view why) {
  if (used_->is_open()) lose(why, Wait::kShort);
}

void Connection::drop_refused(std::string_view why) {
  if (used_->is_open()) lose(why, did_well() || failures_ == 0 ? Wait::kShort : Wait::kLong);
}

bool Connection::did_well() const {
  return ready() && (useful_ || clock_.now_us() - ready_at_us_ >= options_.backoff_refused_us);
}

void Connection::begin_to_serve() {
  phase_ = Phase::kReady;
  renewing_ = false;
  const auto tenth = static_cast<std::uint64_t>(options_.max_age_us / 10);
  due_at_us_ = clock_.now_us() + static_cast<std::int64_t>(9 * tenth + random_(tenth + 1));
  events_.on_ready();
}

void Connection::move_on_if_free() {
  if (!ready() || !next_->ready() || !used_->idle()) return;
  used_->close();
  std::swap(used_, next_);
  begin_to_serve();
}

// The replacement failed. The old connection is as good as before.
void Connection::postpone_renewal() {
  renewing_ = false;
  due_at_us_ = clock_.now_us() + static_cast<std::int64_t>(kRenewalRetryUs + random_(kRenewalRetryUs));
}

void Connection::lose(std::string_view why, Wait wait) {
  const std::string reason(why);  // `why` may be in the buffer that close() frees
  failures_ = did_well() ? 0 : failures_ + 1;
  refused_ = wait == Wait::kLong;
  address_failed_ = phase_ == Phase::kOpening && wait != Wait::kNone;
  used_->close();
  next_->close();
  renewing_ = false;
  phase_ = Phase::kWaiting;
  due_at_us_ = clock_.now_us() + wait_us(wait);
  events_.on_lost(reason);
}

std::int64_t Connection::wait_us(Wait wait) const {
  if (wait == Wait::kNone) return 0;
  if (wait == Wait::kLong) {
    const auto half = static_cast<std::uint64_t>(options_.backoff_refused_us / 2);
    return static_cast<std::int64_t>(half + random_(half + 1));
  }
  // Full jitter: many nodes that lost the same server come back spread over the whole time.
  const std::int64_t doubled = options_.backoff_first_us << std::min(failures_, 16u);
  const std::int64_t most = std::min(doubled, options_.backoff_max_us);
  return static_cast<std::int64_t>(random_(static_cast<std::uint64_t>(most) + 1));
}

}  // namespace sluice::redis

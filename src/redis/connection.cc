#include "redis/connection.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice::redis {
namespace {

// The steps of the log-in.
constexpr char kAuth = 'a', kSelect = 's', kName = 'n', kScript = 'l';

}  // namespace

Connection::Connection(Transport& transport, const Clock& clock, ConnectionOptions options, Random random,
                       ConnectionEvents& events)
    : transport_(transport),
      clock_(clock),
      options_(std::move(options)),
      random_(std::move(random)),
      events_(events) {}

void Connection::tick(std::int64_t now_us) {
  if (phase_ == Phase::kReady || now_us < due_at_us_) return;
  if (phase_ != Phase::kWaiting) {
    return lose(phase_ == Phase::kConnecting ? "no connection in time" : "no reply to the log-in in time",
                false);
  }
  phase_ = Phase::kConnecting;
  due_at_us_ = now_us + options_.connect_timeout_us;
  std::string why;
  channel_ = transport_.connect(options_.address, *this, why);
  if (!channel_) lose(why, false);
}

void Connection::on_connected() {
  phase_ = Phase::kLoggingIn;
  log_in();
}

// All in one go; the replies tell which step failed.
void Connection::log_in() {
  std::string commands;
  login_steps_.clear();
  const auto step = [&](char name, std::initializer_list<std::string_view> words) {
    login_steps_ += name;
    append_command(commands, words);
  };
  const Address& address = options_.address;
  if (!address.user.empty()) {
    step(kAuth, {"AUTH", address.user, address.password});
  } else if (!address.password.empty()) {
    step(kAuth, {"AUTH", address.password});
  }
  if (address.database != 0) step(kSelect, {"SELECT", std::to_string(address.database)});
  step(kName, {"CLIENT", "SETNAME", options_.client_name});
  step(kScript, {"SCRIPT", "LOAD", options_.script});
  channel_->send(commands);
}

void Connection::on_login_reply(const RespValue& reply) {
  const char step = login_steps_.front();
  login_steps_.erase(0, 1);
  // A user may lack the right; the name is only for those who look. But without a password this is the reply
  // that says so: a script is too long a word for the server to hear from a stranger.
  if (step == kName && !reply.bytes.starts_with("NOAUTH")) return;
  if (reply.is_error()) {
    // LOADING and the like pass; a wrong password does not.
    const bool passes = reply.bytes.starts_with("LOADING") || reply.bytes.starts_with("BUSY") ||
                        reply.bytes.starts_with("MASTERDOWN");
    return lose(reply.bytes, !passes);
  }
  if (step != kScript) return;
  script_sha_ = reply.bytes;
  failures_ = 0;
  phase_ = Phase::kReady;
  events_.on_ready();
}

void Connection::send(std::string_view commands, std::size_t count) {
  assert(ready());
  unanswered_ += count;
  channel_->send(commands);
}

void Connection::on_bytes(std::string_view bytes) {
  heard_at_us_ = clock_.now_us();
  parser_.feed(bytes);
  const std::uint64_t generation = generation_;
  while (generation == generation_) {
    const RespParser::Status status = parser_.next();
    if (status == RespParser::Status::kNeedMore) return;
    if (status == RespParser::Status::kBroken) return lose(std::string(parser_.problem()), false);
    if (phase_ == Phase::kLoggingIn) {
      on_login_reply(parser_.reply().front());
    } else if (unanswered_ == 0) {
      return lose(std::string("a reply that nobody asked for: ") + std::string(parser_.reply().front().bytes),
                  false);
    } else {
      --unanswered_;
      events_.on_reply(parser_.reply());
    }
  }
}

void Connection::on_closed(std::string_view why) { lose(why, false); }

void Connection::drop(std::string_view why) {
  if (channel_) lose(why, false);
}

void Connection::lose(std::string_view why, bool refused) {
  const std::string reason(why);  // `why` may lie in the buffer that goes now
  const bool was_ready = phase_ == Phase::kReady;
  ++generation_;
  channel_.reset();
  parser_.clear();
  unanswered_ = 0;
  phase_ = Phase::kWaiting;
  failures_ = was_ready ? 0 : failures_ + 1;
  due_at_us_ = clock_.now_us() + backoff_us(refused);
  events_.on_lost(reason);
}

// Full jitter: many nodes that lost the same server come back spread over the whole time.
std::int64_t Connection::backoff_us(bool refused) {
  if (refused) {
    const auto half = static_cast<std::uint64_t>(options_.backoff_refused_us / 2);
    return static_cast<std::int64_t>(half + random_(half + 1));
  }
  const std::int64_t doubled = options_.backoff_first_us << std::min(failures_, 16u);
  const std::int64_t most = std::min(doubled, options_.backoff_max_us);
  return static_cast<std::int64_t>(random_(static_cast<std::uint64_t>(most) + 1));
}

}  // namespace sluice::redis

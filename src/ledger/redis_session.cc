#include "ledger/redis_session.h"

#include <algorithm>
#include <random>
#include <utility>

#include "redis/auth.h"
#include "redis/cluster_slots.h"
#include "redis/sentinel.h"

namespace sluice::ledger {
namespace {

constexpr int kTickMs = 20;
constexpr std::int64_t kConnectUs = 2'000'000;
constexpr std::int64_t kAttemptsMax = 3;  // a name is looked up while the first fails, and has two addresses
constexpr std::int64_t kAnswerUs = 3'000'000;
constexpr std::int64_t kBytesPerUs = 10;  // a large change gets more time

redis::Connection::Random random_numbers() {
  return [random = std::make_shared<std::mt19937_64>(std::random_device()())](std::uint64_t below) {
    return (*random)() % below;
  };
}

}  // namespace

RedisSession::RedisSession(const redis::StoreTarget& target, std::string script)
    : name_(target.to_string()),
      random_(random_numbers()),
      connection_(transport_, clock_, options_for(target, std::move(script)), random_, *this) {}

redis::ConnectionOptions RedisSession::options_for(const redis::StoreTarget& target, std::string script) {
  redis::ConnectionOptions options;
  options.script = std::move(script);
  options.connect_timeout_us = kConnectUs * 3 / 4;
  options.backoff_max_us = 200'000;
  options.backoff_refused_us = 500'000;
  if (target.kind == redis::StoreTarget::Kind::kCluster) {
    slot_ = std::make_shared<redis::SlotAddress>(target.addresses);
    options.source = slot_;
  } else if (target.kind == redis::StoreTarget::Kind::kSentinel) {
    redis::SentinelOptions sentinel;
    sentinel.sentinels = target.addresses;
    sentinel.master = target.login;
    sentinel.talk.master_name = target.master_name;
    options.source = std::make_shared<redis::Sentinel>(transport_, clock_, std::move(sentinel), random_);
  } else {
    options.address = target.addresses.front();
  }
  return options;
}

void RedisSession::step(int timeout_ms) {
  connection_.tick(clock_.now_us());
  loop_.wait(timeout_ms);
  loop_.dispatch();
}

Result<void> RedisSession::connect() {
  if (std::exchange(distrusted_, false)) connection_.drop("a talk was broken off");
  step(0);  // notices what has happened while nobody looked
  const std::int64_t give_up_at_us = clock_.now_us() + kConnectUs, losses_before = losses_;
  while (!connection_.ready()) {
    const std::int64_t failed = losses_ - losses_before;
    if (failed >= kAttemptsMax || (failed > 0 && connection_.refused()) || clock_.now_us() >= give_up_at_us)
      return std::unexpected(unavailable("cannot be reached (" + why_lost_ + ")"));
    step(kTickMs);
  }
  return {};
}

RedisResult<RedisReply> RedisSession::ask(std::span<const std::string_view> words) {
  if (!connection_.may_send())
    return std::unexpected(RedisFailure{.error = unavailable("is gone (" + why_lost_ + ")")});
  std::string command;
  redis::append_command(command, words);
  reply_.reset();
  const std::int64_t losses_before = losses_;
  const std::int64_t give_up_at_us =
      clock_.now_us() + kAnswerUs + static_cast<std::int64_t>(command.size()) / kBytesPerUs;
  connection_.send(command);
  while (!reply_ && losses_ == losses_before && clock_.now_us() < give_up_at_us) step(kTickMs);
  if (!reply_) {
    connection_.drop("no answer in time");
    return std::unexpected(
        RedisFailure{.error = unavailable("does not answer (" + why_lost_ + ")"), .unknown = true});
  }
  if (reply_->front().type == redis::RespValue::Type::kError)
    return std::unexpected(refused(reply_->front().bytes));
  connection_.note_use();
  return std::move(*reply_);
}

void RedisSession::on_reply(std::span<const redis::RespValue> reply) {
  RedisReply& copy = reply_.emplace();
  copy.reserve(reply.size());
  for (const redis::RespValue& value : reply)
    copy.push_back({value.type, value.integer, std::string(value.bytes)});
}

void RedisSession::on_lost(std::string_view why) {
  ++losses_;
  why_lost_ = why;
}

RedisFailure RedisSession::refused(const std::string& error) {
  const redis::Address& asked = connection_.address();
  const redis::ServerErrorAdvice& advice = redis::explain_server_error(error);
  std::string why;
  if (advice.kind == redis::ServerError::kNotAllowed)
    why = "the user lacks a right that the policy database needs, or may not use its keys; see ACL SETUSER";
  else if (advice.kind == redis::ServerError::kOther)
    why = redis::without_secrets(error, asked);
  else
    why = std::string(advice.code) + ": " + std::string(advice.meaning);
  RedisFailure failure{.error = unavailable("refuses (" + why + ")"), .kind = advice.kind};
  if (advice.kind == redis::ServerError::kMoved && slot_ != nullptr) {
    if (auto moved = redis::read_redirect(error, {asked.host, asked.port}))
      slot_->move_to(std::move(moved->to.host), moved->to.port);
    connection_.drop("the keys are on another node");
  } else if (advice.new_connection && advice.kind != redis::ServerError::kNotAllowed) {
    connection_.drop_refused(why);
  }
  return failure;
}

Error RedisSession::unavailable(const std::string& what) const {
  return {ErrorCode::kUnavailable, name_ + " " + what + "; look at the server and the network", ""};
}

}  // namespace sluice::ledger

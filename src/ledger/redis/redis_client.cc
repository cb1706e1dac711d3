#include "ledger/redis/redis_client.h"

#include <algorithm>
#include <random>
#include <utility>

#include "redis/cluster/one_slot.h"
#include "redis/connection/auth.h"

namespace sluice::ledger {
namespace {

constexpr int kStepMs = 20;
constexpr std::int64_t kConnectUs = 2'000'000;
constexpr std::int64_t kConnectAttemptsMax =
    3;  // the first fails during name lookup; a name may have two addresses
constexpr std::int64_t kAnswerUs = 3'000'000;
constexpr std::int64_t kBytesPerUs = 10;  // a large change gets more time

redis::Connection::Random random_numbers() {
  return [random = std::make_shared<std::mt19937_64>(std::random_device()())](std::uint64_t below) {
    return (*random)() % below;
  };
}

}  // namespace

RedisClient::RedisClient(const redis::StoreTarget& target, std::string script)
    : name_(target.to_string()),
      random_(random_numbers()),
      connection_(transport_, clock_, options_for(target, std::move(script)), random_, *this) {}

redis::ConnectionOptions RedisClient::options_for(const redis::StoreTarget& target, std::string script) {
  redis::ConnectionOptions options;
  options.script = std::move(script);
  options.connect_timeout_us = kConnectUs * 3 / 4;
  options.backoff_max_us = 200'000;
  options.backoff_refused_us = 500'000;
  slot_ = redis::lead_to(target, transport_, clock_, random_, options);
  return options;
}

void RedisClient::step(int timeout_ms) {
  connection_.tick(clock_.now_us());
  loop_.wait(timeout_ms);
  loop_.dispatch();
}

Result<void> RedisClient::connect() {
  if (std::exchange(distrusted_, false)) connection_.drop("reconnecting after an interrupted command");
  step(0);  // handles events since the last call
  const std::int64_t give_up_at_us = clock_.now_us() + kConnectUs, losses_before = losses_;
  while (!connection_.ready()) {
    const std::int64_t failed = losses_ - losses_before;
    if (failed >= kConnectAttemptsMax || (failed > 0 && connection_.refused()) ||
        clock_.now_us() >= give_up_at_us)
      return std::unexpected(unavailable("cannot be reached (" + why_lost_ + ")"));
    step(kStepMs);
  }
  return {};
}

RedisResult<RedisReply> RedisClient::ask(std::span<const std::string_view> words) {
  if (!connection_.may_send())
    return std::unexpected(RedisFailure{.error = unavailable("is disconnected (" + why_lost_ + ")")});
  std::string command;
  redis::append_command(command, words);
  reply_.reset();
  const std::int64_t losses_before = losses_;
  const std::int64_t give_up_at_us =
      clock_.now_us() + kAnswerUs + static_cast<std::int64_t>(command.size()) / kBytesPerUs;
  connection_.send(command);
  while (!reply_ && losses_ == losses_before && clock_.now_us() < give_up_at_us) step(kStepMs);
  if (!reply_) {
    connection_.drop("timed out");
    return std::unexpected(
        RedisFailure{.error = unavailable("does not answer (" + why_lost_ + ")"), .unknown = true});
  }
  if (reply_->front().type == redis::RespValue::Type::kError)
    return std::unexpected(refused(reply_->front().bytes));
  connection_.note_use();
  return std::move(*reply_);
}

void RedisClient::on_reply(std::span<const redis::RespValue> reply) {
  RedisReply& copy = reply_.emplace();
  copy.reserve(reply.size());
  for (const redis::RespValue& value : reply)
    copy.push_back({value.type, value.integer, std::string(value.bytes)});
}

void RedisClient::on_lost(std::string_view why) {
  ++losses_;
  why_lost_ = why;
}

RedisFailure RedisClient::refused(const std::string& error) {
  const redis::Address& asked = connection_.address();
  const redis::ServerErrorAdvice& advice = redis::explain_server_error(error);
  std::string why;
  if (advice.kind == redis::ServerError::kNotAllowed)
    why = "the Redis user lacks a permission for the policy database, or access to its keys; see ACL SETUSER";
  else if (advice.kind == redis::ServerError::kOther)
    why = redis::without_secrets(error, asked);
  else
    why = std::string(advice.code) + ": " + std::string(advice.meaning);
  RedisFailure failure{.error = unavailable("refuses (" + why + ")"), .kind = advice.kind};
  if (redis::follow_move(error, asked, slot_.get())) {
    connection_.drop("the keys are on another node");
  } else if (advice.new_connection && advice.kind != redis::ServerError::kNotAllowed) {
    connection_.drop_refused(why);
  }
  return failure;
}

Error RedisClient::unavailable(const std::string& what) const {
  return {ErrorCode::kUnavailable, name_ + " " + what + "; check the server and the network", ""};
}

}  // namespace sluice::ledger

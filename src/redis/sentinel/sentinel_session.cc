#include "redis/sentinel/sentinel_session.h"

#include "redis/connection/auth.h"

namespace sluice::redis {
namespace {

// The requests, in this order.
constexpr char kAuth = 'a', kReplicas = 'r', kMaster = 'm', kOthers = 'o', kSubscribe = 's';

}  // namespace

bool SentinelSession::open(const Address& sentinel, std::string& why) {
  sentinel_ = sentinel;
  steps_.clear();
  give_up_at_us_ = clock_.now_us() + options_.answer_timeout_us;
  return stream_.open(sentinel_, why);
}

// Sends everything at once: between the answer and the subscription there is no gap in which a switch could
// be missed.
void SentinelSession::on_open() {
  std::string commands;
  if (append_auth(commands, sentinel_)) steps_ += kAuth;
  if (options_.asks_for_replicas) {
    append_command(commands, {"SENTINEL", "REPLICAS", options_.master_name});
    steps_ += kReplicas;
  }
  append_command(commands, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", options_.master_name});
  append_command(commands, {"SENTINEL", "SENTINELS", options_.master_name});
  append_command(commands, {"SUBSCRIBE", "+switch-master"});
  steps_ += {kMaster, kOthers, kSubscribe};
  stream_.send(commands);
}

void SentinelSession::on_reply(std::span<const RespValue> reply) {
  if (!steps_.empty()) {
    const char step = steps_.front();
    steps_.erase(0, 1);
    if (steps_.empty()) give_up_at_us_ = 0;
    return on_answer(step, reply);
  }
  give_up_at_us_ = 0;
  if (tells_of_switch(reply, options_.master_name)) events_.on_switch(*this);
}

void SentinelSession::on_answer(char step, std::span<const RespValue> reply) {
  const RespValue& first = reply.front();
  if (first.is_error() && step != kOthers && step != kReplicas)
    return end(step == kAuth ? refused_auth(first.bytes, sentinel_)
                             : without_secrets(first.bytes, sentinel_));
  if (step == kMaster) {
    if (first.type == RespValue::Type::kNothing) return end("");
    const auto master = read_master_address(reply);
    if (!master) return end("unexpected reply: not an address");
    events_.on_master(*this, *master);
  } else if (step == kReplicas) {
    events_.on_replicas(*this, read_good_replicas(reply));
  } else if (step == kOthers) {
    events_.on_other_sentinels(*this, read_other_sentinels(reply));
  }
}

void SentinelSession::tick(std::int64_t now_us) {
  if (!is_open()) return;
  if (give_up_at_us_ != 0) {
    if (now_us >= give_up_at_us_) end("timed out waiting for a reply");
  } else if (now_us - stream_.heard_at_us() >= options_.check_every_us) {
    std::string ping;
    append_command(ping, {"PING"});
    stream_.send(ping);
    give_up_at_us_ = now_us + options_.answer_timeout_us;
  }
}

void SentinelSession::end(std::string_view why) {
  const std::string reason(why);  // `why` may be in the buffer that close() frees
  close();
  events_.on_session_ended(*this, reason);
}

}  // namespace sluice::redis

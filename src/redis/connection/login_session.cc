#include "redis/connection/login_session.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "redis/connection/auth.h"
#include "redis/protocol/server_error.h"

namespace sluice::redis {
namespace {

// The steps of the login.
constexpr char kAuth = 'a', kSelect = 's', kName = 'n', kRole = 'r', kReads = 'd', kScript = 'l';

// LOADING and the like are temporary; a wrong password is not.
bool passes_by_itself(std::string_view error) {
  return error.starts_with("LOADING") || error.starts_with("BUSY") || error.starts_with("MASTERDOWN");
}

// A server that wants a password, or has no room for us, says so in reply to the first command.
bool refuses_everything(std::string_view error) {
  const ServerError kind = explain_server_error(error).kind;
  return kind == ServerError::kNotLoggedIn || kind == ServerError::kTooManyClients;
}

}  // namespace

void LoginSession::open(const Address& address, bool must_be_master) {
  assert(phase_ == Phase::kClosed);
  address_ = address;
  must_be_master_ = must_be_master;
  phase_ = Phase::kConnecting;
  opened_at_us_ = clock_.now_us();
  std::string why;
  if (!stream_.open(address_, why)) lose(why, false);
}

void LoginSession::close() {
  phase_ = Phase::kClosed;
  stream_.close();
  sent_ = answered_ = 0;
  asked_.clear();
}

// Sends everything at once; the replies tell which step failed.
void LoginSession::on_open() {
  phase_ = Phase::kLoggingIn;
  std::string commands;
  login_steps_.clear();
  const auto step = [&](char name, std::initializer_list<std::string_view> words) {
    login_steps_ += name;
    append_command(commands, words);
  };
  if (append_auth(commands, address_)) login_steps_ += kAuth;
  if (address_.database != 0) step(kSelect, {"SELECT", std::to_string(address_.database)});
  step(kName, {"CLIENT", "SETNAME", options_.client_name});
  if (must_be_master_) step(kRole, {"ROLE"});
  if (options_.reads_replica) step(kReads, {"READONLY"});
  if (!options_.script.empty()) step(kScript, {"SCRIPT", "LOAD", options_.script});
  stream_.send(commands);
}

void LoginSession::on_login_reply(std::span<const RespValue> reply) {
  const char step = login_steps_.front();
  login_steps_.erase(0, 1);
  const RespValue& first = reply.front();
  // A user may lack the right to set a name, which is only for display. But this may be the first reply, and
  // the only one: before the login, a server closes the connection when it gets a command as long as a
  // script.
  const bool is_for_display = step == kName && !(first.is_error() && refuses_everything(first.bytes));
  if (first.is_error() && !is_for_display) {
    const bool refused = !passes_by_itself(first.bytes);
    return lose(step == kAuth ? refused_auth(first.bytes, address_) : without_secrets(first.bytes, address_),
                refused);
  }
  if (step == kRole && (reply.size() < 2 || reply[1].bytes != "master"))
    return lose("the server is not a master", false);
  if (step == kScript) script_sha_ = first.bytes;
  if (!login_steps_.empty()) return;
  login_us_ = clock_.now_us() - opened_at_us_;
  phase_ = Phase::kReady;
  events_.on_session_ready(*this);
}

void LoginSession::send(std::string_view commands, std::size_t count) {
  assert(ready());
  sent_ += count;
  stream_.send(commands);
}

void LoginSession::ask(std::string_view command, Answer answer) {
  assert(ready());
  asked_.push_back({sent_++, clock_.now_us(), std::move(answer)});
  stream_.send(command);
}

void LoginSession::on_reply(std::span<const RespValue> reply) {
  if (phase_ == Phase::kLoggingIn) return on_login_reply(reply);
  if (idle()) return lose("unexpected reply: " + without_secrets(reply.front().bytes, address_), false);
  const std::uint64_t number = answered_++;
  if (asked_.empty() || asked_.front().number != number) return events_.on_session_reply(*this, reply);
  const Asked asked = std::move(asked_.front());
  asked_.pop_front();
  asked.answer(reply);
}

void LoginSession::tick(std::int64_t now_us) {
  if (phase_ == Phase::kReady) return look_after(now_us);
  if (phase_ == Phase::kClosed || now_us < opened_at_us_ + options_.connect_timeout_us) return;
  lose(phase_ == Phase::kConnecting ? "connect timed out" : "login timed out", false);
}

// A server that went away while idle must not be discovered by the next check. While commands of the owner
// are outstanding, the owner decides how long is too long.
void LoginSession::look_after(std::int64_t now_us) {
  if (idle()) {
    if (now_us - heard_at_us() < options_.idle_check_us) return;
    std::string ping;
    append_command(ping, {"PING"});
    return ask(ping, [](std::span<const RespValue>) {});
  }
  if (unanswered() > 0) return;
  if (now_us - std::max(asked_.front().at_us, heard_at_us()) >= options_.idle_reply_us)
    lose("no reply to PING on an idle connection", false);
}

void LoginSession::lose(std::string_view why, bool refused) {
  const std::string reason(why);  // `why` may be in the buffer that close() frees
  close();
  events_.on_session_lost(*this, reason, refused);
}

}  // namespace sluice::redis

#include "doors/resp/redis_door.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cctype>

#include "base/limits.h"
#include "doors/check/late_answer.h"
#include "doors/resp/redis_reply.h"
#include "doors/resp/redis_reset.h"

namespace sluice::doors {
namespace {

namespace reply = redis_reply;

constexpr std::size_t kClientNameBytesMax = 128;

std::int64_t next_client_id() {
  static std::atomic<std::int64_t> last = 0;
  return ++last;
}

// Compares a command word, ignoring case. REQUIRES: `upper` is in capitals.
bool is(std::string_view word, std::string_view upper) {
  return std::ranges::equal(word, upper, [](char a, char b) {
    return std::toupper(static_cast<unsigned char>(a)) == static_cast<unsigned char>(b);
  });
}

// The commands that this server supports, and how many arguments each takes.
struct Command {
  std::string_view name;
  std::size_t arguments_min = 0;
  std::size_t arguments_max = kRedisCommandWordsMax;
};
constexpr std::array<Command, 15> kCommands = {{{"AUTH", 1, 2},
                                                {"CL.THROTTLE", 4, 5},
                                                {"CLIENT", 1},
                                                {"COMMAND"},
                                                {"CONFIG", 1},
                                                {"DEL", 1},
                                                {"DISCARD", 0, 0},
                                                {"ECHO", 1, 1},
                                                {"EXEC", 0, 0},
                                                {"HELLO"},
                                                {"INFO"},
                                                {"MULTI", 0, 0},
                                                {"PING", 0, 1},
                                                {"RESET", 0, 0},
                                                {"SELECT", 1, 1}}};

constexpr std::size_t kShownBytesMax = 64;

// Whether there is such a command with this number of arguments. If not, appends the error that Redis would
// send. Errors that Redis detects only on execution are left to the execution. REQUIRES: `words` is not
// empty.
bool is_known_command(std::span<const std::string_view> words, std::string& out) {
  const std::size_t arguments = words.size() - 1;
  const auto* const command =
      std::ranges::find_if(kCommands, [&](const Command& each) { return is(words[0], each.name); });
  std::string shown(words[0].substr(0, kShownBytesMax));
  if (command == kCommands.end()) {
    std::ranges::replace_if(shown, [](char c) { return c < ' ' || c == 0x7f; }, '?');
    reply::error(out, "ERR",
                 "unknown command '" + shown +
                     "'; supported: CL.THROTTLE, DEL, PING and what clients need to connect");
    return false;
  }
  if (arguments >= command->arguments_min && arguments <= command->arguments_max) return true;
  std::ranges::transform(shown, shown.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  reply::error(out, "ERR", "wrong number of arguments for '" + shown + "' command");
  return false;
}

bool is_client_name(std::string_view name) {
  return name.size() <= kClientNameBytesMax &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

RedisDoor::RedisDoor(DoorContext& context, ThrottleLimits& throttle, const net::Peer& peer)
    : context_(context),
      throttle_(throttle),
      peer_(peer),
      id_(next_client_id()),
      is_known_(needs_no_token()) {
  if (is_known_) peer_.recognise();
}

bool RedisDoor::needs_no_token() const {
  return !context_.options.checks_need_token || context_.authenticator->who(peer_, "").has_value();
}

bool RedisDoor::handle(Words words, net::RedisReply& to) {
  context_.engine.set_caller(peer_.id);
  if (transaction_.is_open()) [[unlikely]]
    return handle_in_transaction(words, to);
  std::string& out = to.response;
  const std::string_view name = words[0];
  const Words arguments = words.subspan(1);
  if (is(name, "CL.THROTTLE")) [[likely]] {
    if (const auto answered = throttle(arguments, to); !answered) reply::refuse(out, answered.error());
    return true;
  }
  if (is(name, "QUIT")) {
    reply::status(out, "OK");
    return false;
  }
  if (is(name, "POST") || is(name, "HOST:")) {
    // A web page that posts to this port must not be able to run commands.
    reply::error(out, "ERR", "this is the Redis protocol, not HTTP");
    return false;
  }
  const bool says_who_it_is = is(name, "HELLO") || is(name, "AUTH");
  if (!is_known_ && !says_who_it_is)
    reply::error(out, "NOAUTH", reply::kSendAuth);
  else if (!is_known_command(words, out))
    return true;
  else if (is(name, "HELLO"))
    hello(arguments, out);
  else if (is(name, "AUTH"))
    auth(arguments, out);
  else if (is(name, "DEL"))
    reset_keys(context_, {context_, Access::kOperator, peer_, authorization_}, throttle_.policy(), arguments,
               to);
  else
    other(name, arguments, out);
  return true;
}

bool RedisDoor::handle_in_transaction(Words words, net::RedisReply& to) {
  const std::string_view name = words[0];
  std::string& out = to.response;
  if (is(name, "QUIT")) {
    transaction_.discard();
    return handle(words, to);
  }
  if (!is_known_command(words, out)) {
    transaction_.spoil();
  } else if (is(name, "EXEC")) {
    transaction_.execute([this](Words each, net::RedisReply& its) { handle(each, its); }, to);
  } else if (is(name, "DISCARD")) {
    transaction_.discard();
    reply::status(out, "OK");
  } else if (is(name, "MULTI")) {
    reply::error(out, "ERR", "MULTI calls can not be nested");
  } else if (is(name, "RESET")) {
    transaction_.discard();
    return handle(words, to);
  } else {
    transaction_.add(words, out);
  }
  return true;
}

Result<GivenNumbers> RedisDoor::numbers_of(const Throttle& throttle, const Caller& caller) {
  if (const GivenNumbers* const known = throttle_.find(throttle)) [[likely]]
    return *known;
  const auto taken = take_limit(context_, {Algorithm::kGcra, throttle.rate, throttle.limit}, &caller);
  if (taken && taken->params != 0) throttle_.keep(throttle, *taken);
  return taken;
}

Result<void> RedisDoor::throttle(Words arguments, net::RedisReply& to) {
  // The permit comes first: unrecognised callers must use up neither memory nor limit numbers.
  CheckRequest about_all{.own_policy = &throttle_.policy()};
  const Caller caller(context_, Access::kCheck, peer_, authorization_);
  const Permit permit = SLUICE_TRY(caller.permit({&about_all, 1}));
  SLUICE_TRY(context_.gate.admit(1));
  const Throttle asked = SLUICE_TRY(read_throttle(arguments));
  const GivenNumbers numbers = SLUICE_TRY(numbers_of(asked, caller));
  const CheckRequest check{
      .key = asked.key, .cost = asked.quantity, .own_policy = &throttle_.policy(), .numbers = numbers};
  // `asked.key` is not valid any more when the answer comes later; it is not written.
  answer(
      to, [&](const auto& postpone) { return context_.engine.check(permit, check, postpone); },
      [asked](const Result<Decision>& decision, std::string& out) {
        if (!decision) return reply::refuse(out, decision.error());
        write_throttle(asked, *decision, out);
      });
  return {};
}

bool RedisDoor::log_in(std::string_view token) {
  std::string authorization = "Bearer " + std::string(token);
  if (!context_.authenticator->who(peer_, authorization)) return false;
  authorization_ = std::move(authorization);
  peer_.recognise();
  return is_known_ = true;
}

// AUTH token, or AUTH name token. The name is ignored: the token identifies its owner.
void RedisDoor::auth(Words arguments, std::string& out) {
  if (!log_in(arguments.back())) return reply::error(out, "WRONGPASS", "unknown or expired token");
  reply::status(out, "OK");
}

// HELLO [2|3 [AUTH name token] [SETNAME name]]: applied as a whole or not at all.
void RedisDoor::hello(Words arguments, std::string& out) {
  bool resp3 = is_resp3_;
  std::string_view token, name;
  if (!arguments.empty()) {
    if (arguments[0] != "2" && arguments[0] != "3")
      return reply::error(out, "NOPROTO", "unsupported protocol version");
    resp3 = arguments[0] == "3";
    arguments = arguments.subspan(1);
  }
  while (!arguments.empty()) {
    if (is(arguments[0], "AUTH") && arguments.size() >= 3) {
      token = arguments[2];
      arguments = arguments.subspan(3);
    } else if (is(arguments[0], "SETNAME") && arguments.size() >= 2) {
      name = arguments[1];
      arguments = arguments.subspan(2);
    } else {
      return reply::error(out, "ERR", "Syntax error in HELLO; write HELLO 3 AUTH name token SETNAME name");
    }
  }
  if (!is_client_name(name))
    return reply::error(out, "ERR", "Client names cannot contain spaces, newlines or special characters.");
  if (!token.empty() && !log_in(token)) return reply::error(out, "WRONGPASS", "unknown or expired token");
  if (!is_known_)
    return reply::error(out, "NOAUTH", "HELLO must be called with the token: HELLO 3 AUTH name sluice_…");
  if (!name.empty()) name_ = name;
  is_resp3_ = resp3;
  reply::map(out, 7, is_resp3_);
  const auto put = [&out](std::string_view field, std::string_view value) {
    reply::text(out, field);
    reply::text(out, value);
  };
  put("server", "sluice");
  put("version", "7.0.0");  // the Redis version that clients may expect
  reply::text(out, "proto");
  reply::integer(out, is_resp3_ ? 3 : 2);
  reply::text(out, "id");
  reply::integer(out, id_);
  put("mode", "standalone");
  put("role", "master");
  reply::text(out, "modules");
  reply::array(out, 0);
}

void RedisDoor::client(Words arguments, std::string& out) {
  const std::string_view what = arguments[0];
  if (is(what, "SETNAME") && arguments.size() == 2) {
    if (!is_client_name(arguments[1]))
      return reply::error(out, "ERR", "Client names cannot contain spaces, newlines or special characters.");
    name_ = arguments[1];
    return reply::status(out, "OK");
  }
  if (is(what, "GETNAME") && arguments.size() == 1)
    return name_.empty() ? reply::nothing(out, is_resp3_) : reply::text(out, name_);
  if (is(what, "ID") && arguments.size() == 1) return reply::integer(out, id_);
  const bool tells_only = is(what, "SETINFO") || is(what, "NO-EVICT") || is(what, "NO-TOUCH");
  if (tells_only) return reply::status(out, "OK");
  reply::error(out, "ERR", "unknown subcommand of 'client'; supported: SETNAME, GETNAME, ID and SETINFO");
}

// redis-cli asks for this for its help texts; we have none.
void RedisDoor::command(Words arguments, std::string& out) const {
  if (!arguments.empty() && is(arguments[0], "COUNT")) return reply::integer(out, 0);
  if (!arguments.empty() && is(arguments[0], "DOCS")) return reply::map(out, 0, is_resp3_);
  reply::array(out, 0);
}

// redis-benchmark asks how a server persists.
void RedisDoor::config(Words arguments, std::string& out) const {
  if (arguments.size() != 2 || !is(arguments[0], "GET"))
    return reply::error(out, "ERR", "settings are changed by flags and --config, not over this protocol");
  const bool is_save = is(arguments[1], "SAVE"), is_append = is(arguments[1], "APPENDONLY");
  reply::map(out, is_save || is_append ? 1 : 0, is_resp3_);
  if (!is_save && !is_append) return;
  reply::text(out, arguments[1]);
  reply::text(out, is_save ? "" : "no");
}

void RedisDoor::other(std::string_view name, Words arguments, std::string& out) {
  if (is(name, "PING"))
    return arguments.empty() ? reply::status(out, "PONG") : reply::text(out, arguments[0]);
  if (is(name, "ECHO")) return reply::text(out, arguments[0]);
  if (is(name, "CLIENT")) return client(arguments, out);
  if (is(name, "COMMAND")) return command(arguments, out);
  if (is(name, "CONFIG")) return config(arguments, out);
  if (is(name, "SELECT")) {
    if (arguments[0] == "0") return reply::status(out, "OK");
    return reply::error(out, "ERR", "DB index is out of range; there is only 0");
  }
  if (is(name, "RESET")) {
    is_resp3_ = false;
    name_.clear();
    authorization_.clear();
    is_known_ = needs_no_token();
    return reply::status(out, "RESET");
  }
  if (is(name, "MULTI")) {
    transaction_.open();
    return reply::status(out, "OK");
  }
  if (is(name, "EXEC") || is(name, "DISCARD"))
    return reply::error(out, "ERR", std::string(name) + " without MULTI");
  assert(is(name, "INFO"));
  reply::text(out, "# Server\r\nredis_mode:standalone\r\nserver_name:sluice\r\n");
}

}  // namespace sluice::doors

#include "redis/connection/auth.h"

#include <algorithm>

#include "redis/protocol/resp.h"
#include "redis/protocol/server_error.h"

namespace sluice::redis {
namespace {

bool repeats_secrets(std::string_view text, const Address& address) {
  const auto repeats = [&](const std::string& secret) { return !secret.empty() && text.contains(secret); };
  return repeats(address.user) || repeats(address.password);
}

// WRONGPASS, ERR, …; empty if that could be a secret.
std::string_view code_of(std::string_view error, const Address& address) {
  const std::string_view word = error.substr(0, error.find(' '));
  const bool is_code = std::ranges::all_of(word, [](char letter) { return letter >= 'A' && letter <= 'Z'; });
  return is_code && !repeats_secrets(word, address) ? word : "";
}

}  // namespace

bool append_auth(std::string& commands, const Address& address) {
  if (!address.user.empty()) {
    append_command(commands, {"AUTH", address.user, address.password});
  } else if (!address.password.empty()) {
    append_command(commands, {"AUTH", address.password});
  } else {
    return false;
  }
  return true;
}

std::string refused_auth(std::string_view error, const Address& address) {
  const std::string_view code = code_of(error, address);
  const ServerErrorAdvice& advice = explain_server_error(code);
  std::string text(code);
  if (!code.empty()) text += ": ";
  if (advice.kind != ServerError::kOther) return text.append(advice.meaning);
  return text + "it rejects our AUTH; check that this user exists and has a password";
}

std::string without_secrets(std::string_view text, const Address& address) {
  if (!repeats_secrets(text, address)) return std::string(text);
  return "the server's words are hidden because they contain our credentials";
}

}  // namespace sluice::redis

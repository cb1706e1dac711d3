#include "server/first_token_news.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "control/access/first_token.h"
#include "telemetry/log/log.h"

namespace sluice::server {
namespace {

void print_once(const std::string& token) {
  fmt::print("The first token, with the role admin (shown only once):\n{}\n", token);
  std::fflush(stdout);
}

}  // namespace

void make_token_if_needed(const std::string& file, const std::function<bool()>& is_needed, const Clock& clock,
                          control::LedgerFollower& follower, std::string& told) {
  if (!follower.is_loaded() || !is_needed()) return;
  if (file.empty()) {
    if (const auto token = control::make_first_token(follower, is_needed, clock)) print_once(*token);
    return;
  }
  const auto made = control::make_first_token_in(file, follower, is_needed, clock);
  if (made && *made) log(LogEvent::kFirstTokenWritten, **made);
  if (!made && std::exchange(told, made.error().message) != made.error().message)
    log(LogEvent::kFirstTokenFailed, "--bootstrap-token-file: " + made.error().message);
}

}  // namespace sluice::server

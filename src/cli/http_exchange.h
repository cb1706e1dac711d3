#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "cli/server_url.h"
#include "redis/redis_url.h"

// HTTP/1.1 as the command line speaks it: one request, one answer, and the connection is closed.
namespace sluice::cli {

struct Deadline {
  const Clock& clock;
  std::int64_t at_us;
};

// Connects, sends `request`, and returns everything that comes until the peer closes. `tls` is for a URL of
// https: whom we trust, and who we are. Throws CommandError when nobody is there or it is somebody we don't
// trust, when the deadline passes, or when it is more than kAnswerBytesMax.
std::string exchange_bytes(const ServerUrl& url, const redis::TlsSettings& tls, std::string_view request,
                           Deadline deadline);

inline constexpr std::size_t kAnswerBytesMax = 32u << 20;

struct HttpAnswer {
  int status = 0;
  std::string body;
};

// Takes an answer apart. The error is the end of a sentence that begins with "what answers at … ".
std::expected<HttpAnswer, std::string> read_http_answer(std::string_view bytes);

}  // namespace sluice::cli

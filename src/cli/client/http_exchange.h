#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/tls_settings.h"
#include "cli/client/server_url.h"

// Minimal HTTP/1.1 client of the command line: one request, one answer, then the connection is closed.
namespace sluice::cli {

struct Deadline {
  const Clock& clock;
  std::int64_t at_us;
};

// Connects, sends `request`, and returns everything that the peer sends until it closes. `tls` is used for
// https URLs: the CAs we trust and our own certificate. Throws CommandError if the connection fails, the peer
// is not trusted, the deadline passes, or the answer exceeds kAnswerBytesMax.
std::string exchange_bytes(const ServerUrl& url, const TlsSettings& tls, std::string_view request,
                           Deadline deadline);

inline constexpr std::size_t kAnswerBytesMax = 32u << 20;

struct HttpAnswer {
  int status = 0;
  std::string body;
};

// Parses an answer. The error text completes a sentence that begins with "the server at … ".
std::expected<HttpAnswer, std::string> read_http_answer(std::string_view bytes);

}  // namespace sluice::cli

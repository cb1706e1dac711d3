#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "net/http/http_api.h"

namespace sluice::net {

// The head of an HTTP/1 request: request line and headers. All views point into the parsed bytes.
struct Http1Head {
  std::string_view method;
  std::string_view path;
  std::string_view query;
  std::string_view authority;  // of a target that names its host, http://host/path; else empty
  std::size_t header_count = 0;
  std::size_t size = 0;  // bytes, including the empty line
  std::uint64_t content_length = 0;
  bool has_content_length = false;
  bool chunked = false;
  bool keep_alive = true;
  bool expect_continue = false;
  bool http_1_0 = false;
};

struct Http1ParseResult {
  // kForeign: not HTTP at all, so an HTTP answer would mean nothing to the peer.
  enum class Kind { kComplete, kIncomplete, kBad, kForeign } kind = Kind::kComplete;
  int status = 0;                // of kBad: 400, 417, 431, 501 or 505
  std::string_view detail = {};  // of kBad: a sentence
};

// Parses the head at the beginning of `bytes` and writes its headers to `headers`, with names in lower case
// (the bytes are changed in place). Keeps no state: call it again with the same bytes and more.
//
// Strict, because requests that two servers read differently allow request smuggling: lines end in CR LF, no
// folded or nameless headers, no space before a colon, exactly one Host in HTTP/1.1, one Content-Length of
// digits only, never beside Transfer-Encoding, and no other coding than chunked. If the target names its
// host, that is the value of Host, whatever the header says (RFC 9112, 3.2.2).
Http1ParseResult parse_http1_head(std::span<char> bytes, std::span<Header> headers, Http1Head& head);

}  // namespace sluice::net

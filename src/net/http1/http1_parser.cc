#include "net/http1/http1_parser.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/limits.h"
#include "net/http/http_text.h"

namespace sluice::net {
namespace {

using Kind = Http1ParseResult::Kind;

// The lower-case form of every character that is allowed in a token (a method, a header name); 0 for others.
constexpr std::array<char, 256> kTokenLower = [] {
  std::array<char, 256> table{};
  for (char c = '0'; c <= '9'; ++c) table[static_cast<unsigned char>(c)] = c;
  for (char c = 'a'; c <= 'z'; ++c) {
    table[static_cast<unsigned char>(c)] = c;
    table[static_cast<unsigned char>(c - 'a' + 'A')] = c;
  }
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = c;
  return table;
}();

char token_lower(char c) { return kTokenLower[static_cast<unsigned char>(c)]; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Visible characters, blanks and bytes above ASCII are allowed in a value; other control characters are not.
bool is_value_char(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
}

// How many bytes at the beginning of `text`, in whole words, are at least `least` and not DEL. Whole words
// save about 200 instructions per request line and headers, compared with single bytes.
std::size_t plain_words(std::string_view text, unsigned char least) {
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  const auto below = [](std::uint64_t word, unsigned char bound) { return (word - kOnes * bound) & ~word; };
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof(word));
    if ((below(word, least) | below(word ^ kOnes * 0x7f, 1)) & kOnes * 0x80) break;
  }
  return i;
}

bool is_value(std::string_view text) {
  return std::ranges::all_of(text.substr(plain_words(text, 0x20)), is_value_char);
}

constexpr Http1ParseResult kGood{};
constexpr Http1ParseResult bad(int status, std::string_view detail) { return {Kind::kBad, status, detail}; }

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, [](char a, char b) { return token_lower(a) == b; });
}

// Calls `visit` with each element of "a, b,c".
template <class Visit>
void for_each_element(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view element = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    while (!element.empty() && is_blank(element.front())) element.remove_prefix(1);
    while (!element.empty() && is_blank(element.back())) element.remove_suffix(1);
    if (!element.empty()) visit(element);
  }
}

Http1ParseResult parse_version(std::string_view version, Http1Head& head) {
  if (version == "HTTP/1.1") return kGood;
  if (version == "HTTP/1.0") {
    head.http_1_0 = true;
    head.keep_alive = false;
    return kGood;
  }
  if (version.size() == 8 && version.starts_with("HTTP/") && version[6] == '.')
    return bad(505, "This server speaks HTTP/1.1, and HTTP/2 with prior knowledge.");
  if (!equals_ignoring_case(version.substr(0, 4), "http")) return {Kind::kForeign};
  return bad(400, "The request line must end in HTTP/1.1.");
}

Http1ParseResult parse_target(std::string_view target, Http1Head& head) {
  for (const char c : target.substr(plain_words(target, 0x21)))
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f)
      return bad(400, "The request target contains a blank or a control character.");
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const std::size_t end = std::min(target.find_first_of("/?#", scheme.size()), target.size());
    head.authority = target.substr(scheme.size(), end - scheme.size());
    if (head.authority.empty()) return bad(400, "The request target names no host.");
    target = end == target.size() ? "/" : target.substr(end);
    break;
  }
  if (!target.starts_with('/') && target != "*")
    return bad(400, "The request target must begin with a slash.");
  split_target(target, head.path, head.query);
  return kGood;
}

Http1ParseResult parse_request_line(std::string_view line, Http1Head& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || first == 0)
    return bad(400, "The request line must be: method, target, version.");
  head.method = line.substr(0, first);
  if (!std::ranges::all_of(head.method, token_lower)) return bad(400, "The method is not a token.");
  if (const auto result = parse_version(line.substr(last + 1), head); result.kind != Kind::kComplete)
    return result;
  return parse_target(line.substr(first + 1, last - first - 1), head);
}

Http1ParseResult parse_content_length(std::string_view value, Http1Head& head) {
  if (head.has_content_length) return bad(400, "Content-Length is given twice.");
  // 18 digits fit into 64 bits, and no body that we accept needs more.
  if (value.empty() || value.size() > 18 ||
      !std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; }))
    return bad(400, "Content-Length must be one decimal number.");
  head.has_content_length = true;
  head.content_length = 0;
  for (const char c : value)
    head.content_length = head.content_length * 10 + static_cast<std::uint64_t>(c - '0');
  return kGood;
}

// Evaluates the headers that concern the connection itself.
Http1ParseResult interpret(const Header& header, Http1Head& head, bool& has_host) {
  switch (header.name.size()) {
    case 4:
      if (header.name != "host") break;
      if (has_host) return bad(400, "Host is given twice.");
      has_host = true;
      break;
    case 6:
      if (header.name != "expect") break;
      if (!equals_ignoring_case(header.value, "100-continue"))
        return bad(417, "The only supported expectation is 100-continue.");
      head.expect_continue = !head.http_1_0;
      break;
    case 10:
      if (header.name != "connection") break;
      for_each_element(header.value, [&](std::string_view element) {
        if (equals_ignoring_case(element, "close")) head.keep_alive = false;
        if (head.http_1_0 && equals_ignoring_case(element, "keep-alive")) head.keep_alive = true;
      });
      break;
    case 14:
      if (header.name == "content-length") return parse_content_length(header.value, head);
      break;
    case 17:
      if (header.name != "transfer-encoding") break;
      if (head.chunked) return bad(400, "Transfer-Encoding is given twice.");
      if (head.http_1_0) return bad(400, "HTTP/1.0 has no Transfer-Encoding.");
      if (!equals_ignoring_case(header.value, "chunked"))
        return bad(501, "The only supported transfer coding is chunked.");
      head.chunked = true;
      break;
    default:
      break;
  }
  return kGood;
}

Http1ParseResult parse_header_line(std::span<char> line, Header& header) {
  if (is_blank(line[0])) return bad(400, "Folded header lines are not allowed.");
  std::size_t colon = 0;
  while (colon < line.size() && line[colon] != ':') {
    const char lower = token_lower(line[colon]);
    if (lower == 0) return bad(400, "A header name contains a character that is not allowed.");
    line[colon++] = lower;
  }
  if (colon == 0 || colon == line.size())
    return bad(400, "A header line must be a name, a colon and a value.");
  std::size_t begin = colon + 1;
  std::size_t end = line.size();
  while (begin < end && is_blank(line[begin])) ++begin;
  while (begin < end && is_blank(line[end - 1])) --end;
  header.name = {line.data(), colon};
  header.value = {line.data() + begin, end - begin};
  if (!is_value(header.value)) return bad(400, "A header value contains a control character.");
  return kGood;
}

// Splits the next line off `rest`. The line must end in CR LF.
Http1ParseResult next_line(std::span<char>& rest, std::span<char>& line) {
  const auto* feed = static_cast<const char*>(std::memchr(rest.data(), '\n', rest.size()));
  if (!feed) return {Kind::kIncomplete};
  const auto length = static_cast<std::size_t>(feed - rest.data());
  if (length == 0 || rest[length - 1] != '\r') return bad(400, "Lines must end in CR LF.");
  line = rest.first(length - 1);
  rest = rest.subspan(length + 1);
  return kGood;
}

Http1ParseResult parse_headers(std::span<char>& rest, std::span<Header> headers, Http1Head& head) {
  bool has_host = false;
  std::span<char> line;
  while (true) {
    if (const auto result = next_line(rest, line); result.kind != Kind::kComplete) return result;
    if (line.empty()) break;
    if (head.header_count == headers.size()) return bad(431, "The request has too many headers.");
    Header& header = headers[head.header_count++];
    if (const auto result = parse_header_line(line, header); result.kind != Kind::kComplete) return result;
    if (const auto result = interpret(header, head, has_host); result.kind != Kind::kComplete) return result;
  }
  if (!has_host && !head.http_1_0) return bad(400, "HTTP/1.1 requires a Host header.");
  if (!head.authority.empty()) {
    if (!has_host && head.header_count == headers.size())
      return bad(431, "The request has too many headers.");
    if (!has_host) headers[head.header_count++] = {"host", {}};
    std::ranges::find(headers, "host", &Header::name)->value = head.authority;
  }
  if (head.chunked && head.has_content_length)
    return bad(400, "Content-Length and Transfer-Encoding exclude each other.");
  return kGood;
}

}  // namespace

Http1ParseResult parse_http1_head(std::span<char> bytes, std::span<Header> headers, Http1Head& head) {
  head = Http1Head();
  std::span<char> rest = bytes;
  // An empty line before a request is accepted, as RFC 9112 recommends: old clients send one after a body.
  if (rest.size() >= 2 && rest[0] == '\r' && rest[1] == '\n') rest = rest.subspan(2);
  // Input that is not HTTP at all, such as TLS, is refused without waiting for more.
  if (!rest.empty() && rest[0] != '\r' && token_lower(rest[0]) == 0)
    return bad(400, "This is not an HTTP request.");
  std::span<char> line;
  Http1ParseResult result = next_line(rest, line);
  if (result.kind == Kind::kComplete) result = parse_request_line({line.data(), line.size()}, head);
  if (result.kind == Kind::kComplete) result = parse_headers(rest, headers, head);
  head.size = bytes.size() - rest.size();
  const std::size_t head_bytes = result.kind == Kind::kIncomplete ? bytes.size() : head.size;
  if (result.kind != Kind::kBad && head_bytes > kHeaderBytesMax)
    return bad(431, "The request line and headers are too long.");
  return result;
}

}  // namespace sluice::net

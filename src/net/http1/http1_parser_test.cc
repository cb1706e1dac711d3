#include "net/http1/http1_parser.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/limits.h"

namespace sluice::net {
namespace {

using namespace std::literals;
using Kind = Http1ParseResult::Kind;

struct Parsed {
  explicit Parsed(std::string text) : bytes(std::move(text)) {
    result = parse_http1_head({bytes.data(), bytes.size()}, headers, head);
  }
  std::string_view header(std::string_view name) const {
    for (std::size_t i = 0; i < head.header_count; ++i)
      if (headers[i].name == name) return headers[i].value;
    return "(none)";
  }
  std::string bytes;
  std::array<Header, kHeaderCountMax> headers;
  Http1Head head;
  Http1ParseResult result;
};

TEST(Http1Parser, reads_a_request) {
  const Parsed parsed(
      "POST /v1/check?tenant=a&key=b HTTP/1.1\r\nHost: x\r\nContent-Type:application/json\r\n"
      "X-Padded: \t a b \t\r\ncontent-length: 12\r\nEmpty:\r\n\r\nbody");
  ASSERT_EQ(parsed.result.kind, Kind::kComplete) << parsed.result.detail;
  EXPECT_EQ(parsed.head.method, "POST");
  EXPECT_EQ(parsed.head.path, "/v1/check");
  EXPECT_EQ(parsed.head.query, "tenant=a&key=b");
  EXPECT_EQ(parsed.header("content-type"), "application/json");
  EXPECT_EQ(parsed.header("x-padded"), "a b");
  EXPECT_EQ(parsed.header("empty"), "");
  EXPECT_EQ(parsed.head.content_length, 12u);
  EXPECT_TRUE(parsed.head.keep_alive);
  EXPECT_EQ(parsed.head.size, parsed.bytes.size() - 4);
}

TEST(Http1Parser, what_keeps_a_connection_open) {
  const struct {
    std::string head;
    bool keep_alive;
  } rows[] = {
      {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", true},
      {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false},
      {"GET / HTTP/1.1\r\nHost: x\r\nConnection: TE, Close\r\n\r\n", false},
      {"GET / HTTP/1.0\r\n\r\n", false},
      {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
  };
  for (const auto& row : rows) EXPECT_EQ(Parsed(row.head).head.keep_alive, row.keep_alive) << row.head;
}

TEST(Http1Parser, forms_of_a_target) {
  EXPECT_EQ(Parsed("GET http://example.com/a/b?c HTTP/1.1\r\nHost: x\r\n\r\n").head.path, "/a/b");
  EXPECT_EQ(Parsed("GET http://example.com HTTP/1.1\r\nHost: x\r\n\r\n").head.path, "/");
  EXPECT_EQ(Parsed("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n").head.path, "*");
  EXPECT_EQ(Parsed("\r\nGET /after-empty-line HTTP/1.1\r\nHost: x\r\n\r\n").head.path, "/after-empty-line");
}

// RFC 9112, 3.2.2: whoever judges a request by its Host must not be told another one.
TEST(Http1Parser, the_host_of_a_target_replaces_that_of_the_header) {
  const struct {
    std::string head, host;
  } rows[] = {
      {"PUT http://evil.example/v1/switch HTTP/1.1\r\nHost: localhost\r\n\r\n", "evil.example"},
      {"PUT https://evil.example:8080/ HTTP/1.1\r\nA: b\r\nHost: localhost\r\n\r\n", "evil.example:8080"},
      {"PUT http://localhost@evil/ HTTP/1.1\r\nHost: localhost\r\n\r\n", "localhost@evil"},
      {"PUT http://evil.example HTTP/1.1\r\nHost: localhost\r\n\r\n", "evil.example"},
      {"PUT http://evil.example/ HTTP/1.0\r\n\r\n", "evil.example"},
      {"PUT http://localhost/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", "localhost"},
      {"PUT /http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", "localhost"},
  };
  for (const auto& row : rows) {
    const Parsed parsed(row.head);
    EXPECT_EQ(parsed.result.kind, Kind::kComplete) << row.head;
    EXPECT_EQ(parsed.header("host"), row.host) << row.head;
  }
  for (const char* target : {"http://", "http:///v1/switch", "https://?a", "http://evil.example?/v1/switch"})
    EXPECT_EQ(Parsed(std::string("GET ") + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n").result.status,
              400)
        << target;
}

TEST(Http1Parser, every_prefix_of_a_head_is_incomplete) {
  const std::string text = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n";
  for (std::size_t i = 0; i < text.size(); ++i)
    EXPECT_EQ(Parsed(text.substr(0, i)).result.kind, Kind::kIncomplete) << i;
  EXPECT_EQ(Parsed(text).result.kind, Kind::kComplete);
}

TEST(Http1Parser, table_of_what_is_refused) {
  const auto with = [](const std::string& headers) {
    return "POST / HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n";
  };
  const struct {
    const char* why;
    std::string bytes;
    int status;
  } rows[] = {
      {"no version", "GET /\r\n\r\n", 400},
      {"no target", "GET HTTP/1.1\r\n\r\n", 400},
      {"blank in the target", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"control character in the target", "GET /a\x01 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"target without slash", "GET a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"method is no token", "G(T / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"lower-case version", "GET / http/1.1\r\nHost: x\r\n\r\n", 400},
      {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505},
      {"HTTP/2.0 without preface", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
      {"TLS hello", "\x16\x03\x01"s, 400},
      {"bare LF after the request line", "GET / HTTP/1.1\nHost: x\r\n\r\n", 400},
      {"bare LF after a header", "GET / HTTP/1.1\r\nHost: x\n\r\n", 400},
      {"bare LF at the end", "GET / HTTP/1.1\r\nHost: x\r\n\n", 400},
      {"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two Hosts", with("Host: y\r\n"), 400},
      {"folded header", with("a: b\r\n c\r\n"), 400},
      {"folded with a tab", with("a: b\r\n\tc\r\n"), 400},
      {"blank before the colon", with("a : b\r\n"), 400},
      {"no colon", with("abc\r\n"), 400},
      {"no name", with(": b\r\n"), 400},
      {"NUL in a value", with("a: b\0c\r\n"s), 400},
      {"CR inside a value", with("a: b\rc\r\n"), 400},
      {"Content-Length twice", with("Content-Length: 3\r\nContent-Length: 3\r\n"), 400},
      {"Content-Length list", with("Content-Length: 3, 3\r\n"), 400},
      {"Content-Length with a sign", with("Content-Length: +3\r\n"), 400},
      {"negative Content-Length", with("Content-Length: -3\r\n"), 400},
      {"hexadecimal Content-Length", with("Content-Length: 0x3\r\n"), 400},
      {"empty Content-Length", with("Content-Length: \r\n"), 400},
      {"Content-Length beyond 64 bits", with("Content-Length: 99999999999999999999\r\n"), 400},
      {"Content-Length and chunked", with("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"chunked and Content-Length", with("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"), 400},
      {"chunked twice", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"chunked in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"gzip transfer coding", with("Transfer-Encoding: gzip, chunked\r\n"), 501},
      {"chunked is not last", with("Transfer-Encoding: chunked, identity\r\n"), 501},
      {"chunked with a vertical tab",
       with("Transfer-Encoding: \x0b"
            "chunked\r\n"),
       400},
      {"unknown expectation", with("Expect: the-unexpected\r\n"), 417},
  };
  for (const auto& row : rows) {
    const Parsed parsed(row.bytes);
    EXPECT_EQ(parsed.result.kind, Kind::kBad) << row.why;
    EXPECT_EQ(parsed.result.status, row.status) << row.why;
    EXPECT_FALSE(parsed.result.detail.empty()) << row.why;
  }
}

// Every byte at every position of a text that is longer than a word, between plain bytes and beside non-ASCII
// ones.
TEST(Http1Parser, control_characters_are_found_wherever_they_stand) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if (c == '\n') continue;  // ends the line
    const bool good_in_value = (byte >= 0x20 && byte != 0x7f) || c == '\t';
    const bool good_in_target = byte > 0x20 && byte != 0x7f;
    for (const char filler : {'x', '\xff'}) {
      for (std::size_t i = 1; i < 20; ++i) {
        std::string text(21, filler);
        text[i] = c;
        const Parsed value("GET / HTTP/1.1\r\nHost: x\r\na: " + text + "\r\n\r\n");
        EXPECT_EQ(value.result.kind == Kind::kComplete, good_in_value) << byte << " at " << i;
        const Parsed target("GET /" + text + " HTTP/1.1\r\nHost: x\r\n\r\n");
        EXPECT_EQ(target.result.kind == Kind::kComplete, good_in_target) << byte << " at " << i;
      }
    }
  }
}

TEST(Http1Parser, bounds_on_the_head) {
  std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (std::size_t i = 1; i < kHeaderCountMax; ++i) many += "a: b\r\n";
  EXPECT_EQ(Parsed(many + "\r\n").result.kind, Kind::kComplete);
  EXPECT_EQ(Parsed(many + "a: b\r\n\r\n").result.status, 431);

  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\na: ";
  const std::size_t room = kHeaderBytesMax - head.size() - 4;
  EXPECT_EQ(Parsed(head + std::string(room, 'x') + "\r\n\r\n").result.kind, Kind::kComplete);
  EXPECT_EQ(Parsed(head + std::string(room + 1, 'x') + "\r\n\r\n").result.status, 431);
  EXPECT_EQ(Parsed(head + std::string(kHeaderBytesMax, 'x')).result.status, 431)
      << "refused before its end is seen";
}

}  // namespace
}  // namespace sluice::net

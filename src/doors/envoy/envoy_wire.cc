// Encodes a RateLimitResponse in protobuf.
#include <charconv>

#include "doors/envoy/envoy_answer.h"
#include "net/grpc/protobuf_wire.h"

namespace sluice::doors {
namespace {

using net::WireCursor;
using net::WireWriter;

constexpr std::uint64_t kOk = 1, kOverLimit = 2;  // RateLimitResponse.Code

std::uint64_t code(bool over_limit) { return over_limit ? kOverLimit : kOk; }

void write_status(const EnvoyStatus& status, WireCursor& cursor) {
  char* const message = cursor.begin_message(2);
  cursor.uint64(1, code(status.over_limit));
  if (status.has_limit) {
    char* const limit = cursor.begin_message(2);
    cursor.uint64(1, status.requests_per_unit);
    cursor.uint64(2, static_cast<std::uint64_t>(status.unit));
    cursor.string(3, status.name);
    cursor.end_message(limit);
  }
  cursor.uint64(3, status.remaining);
  if (status.reset_after_s > 0) {
    char* const duration = cursor.begin_message(4);
    cursor.int64(1, status.reset_after_s);
    cursor.end_message(duration);
  }
  cursor.end_message(message);
}

void write_header(const net::Header& header, WireCursor& cursor) {
  char* const message = cursor.begin_message(3);
  cursor.string(1, header.name);
  cursor.string(2, header.value);
  cursor.end_message(message);
}

constexpr std::size_t kHeaderRoom = 3 * WireCursor::kFieldRoom;

constexpr char text_mark(unsigned field) {
  return static_cast<char>(field << 3 | static_cast<unsigned>(net::WireType::kBytes));
}

// write_header() for short headers, as nearly all are: every length is one byte, and known beforehand. An
// answer has seven of them, so this is worth it.
char* write_short_header(const net::Header& header, std::size_t size, char* to) {
  to[0] = text_mark(3);
  to[1] = static_cast<char>(size);
  to[2] = text_mark(1);
  to[3] = static_cast<char>(header.name.size());
  std::memcpy(to += 4, header.name.data(), header.name.size());
  to += header.name.size();
  to[0] = text_mark(2);
  to[1] = static_cast<char>(header.value.size());
  std::memcpy(to += 2, header.value.data(), header.value.size());
  return to + header.value.size();
}

void append_headers(std::span<const net::Header> headers, std::string& out) {
  // For a short header: tags and lengths of name and value.
  constexpr std::size_t kMarks = 4, kLong = 0x80;
  std::size_t room = 0;
  for (const net::Header& header : headers) room += kHeaderRoom + header.name.size() + header.value.size();
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + room, [&](char* bytes, std::size_t) {
    char* to = bytes + before;
    for (const net::Header& header : headers) {
      const std::size_t size = header.name.size() + header.value.size() + kMarks;
      if (size < kLong && !header.value.empty()) [[likely]] {
        to = write_short_header(header, size, to);
      } else {
        WireCursor cursor(to);
        write_header(header, cursor);
        to = cursor.at();
      }
    }
    return static_cast<std::size_t>(to - bytes);
  });
}

void write_struct(const DocumentNode& map, std::string& out);

double number_of(std::string_view digits) {
  double number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

// google.protobuf.Value.
void write_value(const DocumentNode& node, std::string& out) {
  WireWriter writer(out);
  switch (node.kind) {
    case DocumentNode::Kind::kNull:
      writer.present_uint64(1, 0);
      break;
    case DocumentNode::Kind::kText:
      if (node.quoted)
        writer.element(3, node.text);
      else if (node.text == "true" || node.text == "false")
        writer.present_uint64(4, node.text == "true");
      else
        writer.present_float64(2, number_of(node.text));
      break;
    case DocumentNode::Kind::kMap: {
      const auto message = writer.begin_message(5);
      write_struct(node, out);
      writer.end_message(message);
      break;
    }
    case DocumentNode::Kind::kList: {
      const auto message = writer.begin_message(6);
      for (const DocumentNode& item : node.items) {
        const auto value = writer.begin_message(1);
        write_value(item, out);
        writer.end_message(value);
      }
      writer.end_message(message);
      break;
    }
  }
}

// google.protobuf.Struct.
void write_struct(const DocumentNode& map, std::string& out) {
  WireWriter writer(out);
  for (std::size_t i = 0; i < map.items.size(); ++i) {
    const auto entry = writer.begin_message(1);
    writer.element(1, map.keys[i].text);
    const auto value = writer.begin_message(2);
    write_value(map.items[i], out);
    writer.end_message(value);
    writer.end_message(entry);
  }
}

void append_denial(const net::HttpResponse& denial, std::string& out) {
  for (const net::Header& header : denial.headers) append_headers({&header, 1}, out);
  WireWriter(out).string(5, denial.body);
}

}  // namespace

void EnvoyAnswer::append_wire(std::string& out) const {
  constexpr std::size_t kStatusRoom = 8 * WireCursor::kFieldRoom;
  std::size_t room = WireCursor::kFieldRoom;
  for (const EnvoyStatus& status : statuses) room += kStatusRoom + status.name.size();
  net::append_wire(out, room, [&](WireCursor& cursor) {
    cursor.uint64(1, code(over_limit));
    for (const EnvoyStatus& status : statuses) write_status(status, cursor);
  });
  append_headers(headers, out);
  if (over_limit) append_denial(denial, out);
  if (!metadata) return;
  WireWriter writer(out);
  const auto message = writer.begin_message(6);
  write_struct(*metadata, out);
  writer.end_message(message);
}

}  // namespace sluice::doors

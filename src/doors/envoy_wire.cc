// RateLimitResponse on the wire.
#include <charconv>

#include "doors/envoy_answer.h"
#include "net/protobuf_wire.h"

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

}  // namespace

void EnvoyAnswer::append_wire(std::string& out) const {
  constexpr std::size_t kStatusRoom = 8 * WireCursor::kFieldRoom;
  std::size_t room = WireCursor::kFieldRoom + extra.headers.http1_lines().size() +
                     extra.headers.size() * 3 * WireCursor::kFieldRoom;
  for (const EnvoyStatus& status : statuses) room += kStatusRoom + status.name.size();
  net::append_wire(out, room, [&](WireCursor& cursor) {
    cursor.uint64(1, code(over_limit));
    for (const EnvoyStatus& status : statuses) write_status(status, cursor);
    for (const net::Header& header : extra.headers) write_header(header, cursor);
  });
  WireWriter writer(out);
  writer.string(5, extra.body);
  if (metadata.kind != DocumentNode::Kind::kMap) return;
  const auto message = writer.begin_message(6);
  write_struct(metadata, out);
  writer.end_message(message);
}

}  // namespace sluice::doors

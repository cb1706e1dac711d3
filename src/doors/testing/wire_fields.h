#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>

#include "net/grpc/protobuf_wire.h"

// Helpers to write and read wire messages in tests.
namespace sluice::doors::testing {

// With at most six digits.
inline std::string number_text(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::general, 6).ptr};
}

// The fields of a message in order, one per line; those in `nested` are shown as messages.
inline std::string fields_of(std::string_view message, std::initializer_list<std::uint32_t> nested = {},
                             const std::string& indent = "") {
  std::string out;
  net::WireReader reader(message);
  while (reader.next()) {
    out += indent + std::to_string(reader.field()) + ": ";
    if (reader.type() == net::WireType::kVarint)
      out += std::to_string(reader.int64()) + "\n";
    else if (reader.type() == net::WireType::kFixed64)
      out += number_text(std::bit_cast<double>(reader.fixed64())) + "\n";
    else if (std::ranges::find(nested, reader.field()) != nested.end())
      out += "{\n" + fields_of(reader.bytes(), {}, indent + "  ") + indent + "}\n";
    else
      out += "\"" + std::string(reader.bytes()) + "\"\n";
  }
  return reader.ok() ? out : "malformed";
}

// Message().text(1, "shop").number(3, 0).bytes
struct Message {
  std::string bytes = {};

  Message& text(std::uint32_t field, std::string_view value) {
    net::WireWriter(bytes).element(field, value);
    return *this;
  }
  Message& number(std::uint32_t field, std::int64_t value) {
    net::WireWriter(bytes).present_uint64(field, static_cast<std::uint64_t>(value));
    return *this;
  }
};

}  // namespace sluice::doors::testing

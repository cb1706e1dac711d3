#include "net/grpc/protobuf_wire.h"

#include <array>

namespace sluice::net {
namespace {

constexpr std::size_t kGroupDepthMax = 16;

}  // namespace

bool WireReader::skip_group(std::uint32_t field) {
  std::array<std::uint32_t, kGroupDepthMax> open{};
  std::size_t depth = 0;
  open[depth++] = field;
  while (depth != 0) {
    std::uint32_t inner = 0;
    WireType type{};
    if (!read_tag(inner, type)) return false;
    if (type == WireType::kGroupBegin) {
      if (depth == open.size()) return false;
      open[depth++] = inner;
    } else if (type == WireType::kGroupEnd) {
      if (inner != open[--depth]) return false;
    } else if (!read_value(type)) {
      return false;
    }
  }
  return true;
}

// The length needs more than the one reserved byte: rare, so moving the message is cheap enough.
char* WireCursor::make_room_for_length(char* begin, std::size_t size) {
  char length[10];
  WireCursor text(length);
  text.varint(size);
  const auto length_bytes = static_cast<std::size_t>(text.at_ - length);
  std::memmove(begin - 1 + length_bytes, begin, size);
  std::memcpy(begin - 1, length, length_bytes);
  return begin - 1 + length_bytes + size;
}

}  // namespace sluice::net

#include "net/protobuf_wire.h"

#include <array>

namespace sluice::net {
namespace {

constexpr std::size_t kGroupDepthMax = 16;

// Length of the UTF-8 sequence at `text`, or 0 if there is none.
std::size_t utf8_sequence(const unsigned char* text, std::size_t left) {
  const auto tail = [&](std::size_t i) { return i < left && (text[i] & 0xc0) == 0x80; };
  const unsigned char lead = text[0];
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return tail(1) ? 2 : 0;
  if (lead < 0xf0) {
    if (!tail(1) || !tail(2)) return 0;
    if (lead == 0xe0 && text[1] < 0xa0) return 0;   // overlong
    if (lead == 0xed && text[1] >= 0xa0) return 0;  // surrogates
    return 3;
  }
  if (lead > 0xf4 || !tail(1) || !tail(2) || !tail(3)) return 0;
  if (lead == 0xf0 && text[1] < 0x90) return 0;   // overlong
  if (lead == 0xf4 && text[1] >= 0x90) return 0;  // above U+10FFFF
  return 4;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  while (left != 0) {
    std::uint64_t word = 0;
    if (left >= sizeof(word)) {
      std::memcpy(&word, at, sizeof(word));
      if ((word & 0x8080808080808080u) == 0) {  // nearly all text is ASCII
        at += sizeof(word);
        left -= sizeof(word);
        continue;
      }
    }
    const std::size_t length = utf8_sequence(at, left);
    if (length == 0) return false;
    at += length;
    left -= length;
  }
  return true;
}

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

// The length needs more than the one byte set aside: rare, so moving the message is cheap enough.
void WireCursor::end_long_message(char* begin, std::size_t size) {
  char length[10];
  WireCursor text(length);
  text.varint(size);
  const auto length_bytes = static_cast<std::size_t>(text.at_ - length);
  std::memmove(begin - 1 + length_bytes, begin, size);
  std::memcpy(begin - 1, length, length_bytes);
  at_ = begin - 1 + length_bytes + size;
}

}  // namespace sluice::net

#include "store/redis/wire.h"

#include "redis/cluster_slots.h"

namespace sluice {
namespace {

constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

char letter(std::uint64_t number) { return kLetters[number & 63]; }

// The letters of a slot tag.
constexpr std::size_t kTagLetters = 3;
char* write_tag(char* at, std::uint32_t slot_tag) {
  for (int shift = 12; shift >= 0; shift -= 6) *at++ = letter(slot_tag >> shift);
  return at;
}

}  // namespace

std::uint16_t slot_of_tag(std::uint32_t slot_tag) {
  char text[kTagLetters];
  write_tag(text, slot_tag);
  return redis::crc16({text, kTagLetters}) % redis::kSlots;
}

void append_key(std::string& out, std::string_view prefix, std::uint32_t slot_tag, const KeyHash& hash) {
  char text[kKeyBytesAfterPrefix];
  char* at = text;
  *at++ = '{';
  at = write_tag(at, slot_tag);
  *at++ = '}';
  for (int shift = 58; shift >= -2; shift -= 6)
    *at++ = letter(shift >= 0 ? hash.high >> shift : hash.high << 2);
  for (int shift = 58; shift >= -2; shift -= 6)
    *at++ = letter(shift >= 0 ? hash.low >> shift : hash.low << 2);
  out.append(prefix);
  out.append(text, sizeof(text));
}

}  // namespace sluice

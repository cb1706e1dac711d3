#include "store/redis/script/wire.h"

#include "redis/cluster/cluster_slots.h"

namespace sluice {
namespace {

constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

char letter(std::uint64_t number) { return kLetters[number & 63]; }

// The letters of a slot tag.
constexpr std::size_t kTagLetters = 3, kOwnerLetters = 2;
constexpr int kOwnerShift = 18;
char* write_tag(char* at, std::uint32_t slot_tag) {
  for (int shift = 12; shift >= 0; shift -= 6) *at++ = letter(slot_tag >> shift);
  return at;
}
char* write_owner(char* at, std::uint32_t slot_tag) {
  for (int shift = 6; shift >= 0; shift -= 6) *at++ = letter(slot_tag >> (kOwnerShift + shift));
  return at;
}

}  // namespace

std::uint16_t slot_of_tag(std::uint32_t slot_tag) {
  char text[kTagLetters];
  write_tag(text, slot_tag);
  return redis::crc16({text, kTagLetters}) % redis::kSlots;
}

std::string owner_letters(std::uint32_t slot_tag) {
  std::string text(kTagLetters + kOwnerLetters, ' ');
  write_owner(write_tag(text.data(), slot_tag), slot_tag);
  return text;
}

void append_key(std::string& out, std::string_view prefix, std::uint32_t slot_tag, const KeyHash& hash) {
  char text[kKeyBytesAfterPrefix];
  char* at = text;
  *at++ = '{';
  at = write_tag(at, slot_tag);
  *at++ = '}';
  at = write_owner(at, slot_tag);
  for (const std::uint64_t half : {hash.high, hash.low})
    for (int shift = 54; shift >= 0; shift -= 6) *at++ = letter(half >> shift);
  out.append(prefix);
  out.append(text, sizeof(text));
}

}  // namespace sluice

#include "store/redis/wire.h"

namespace sluice {
namespace {

constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

char letter(std::uint64_t number) { return kLetters[number & 63]; }

}  // namespace

void append_key(std::string& out, std::string_view prefix, std::uint32_t slot_tag, const KeyHash& hash) {
  char text[kKeyBytesAfterPrefix];
  char* at = text;
  *at++ = '{';
  for (int shift = 12; shift >= 0; shift -= 6) *at++ = letter(slot_tag >> shift);
  *at++ = '}';
  for (int shift = 58; shift >= -2; shift -= 6)
    *at++ = letter(shift >= 0 ? hash.high >> shift : hash.high << 2);
  for (int shift = 58; shift >= -2; shift -= 6)
    *at++ = letter(shift >= 0 ? hash.low >> shift : hash.low << 2);
  out.append(prefix);
  out.append(text, sizeof(text));
}

}  // namespace sluice

#include "base/secret/pseudonyms.h"

#include <sys/random.h>

#include <stdexcept>

namespace sluice {
namespace {

constexpr std::size_t kShownBytes = 8;

std::string random_bytes() {
  std::string bytes(HmacKey::kBytes, '\0');
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("cannot get random bytes from the kernel for pseudonyms");
  return bytes;
}

std::string salt_of(std::string_view secret, std::int64_t period) {
  const HmacKey::Digest salt = HmacKey(secret)("sluice pseudonyms " + std::to_string(period));
  return {salt.begin(), salt.end()};
}

}  // namespace

Pseudonyms::Pseudonyms(std::string_view secret, std::int64_t now_us, std::int64_t period_us)
    : salted_(salt_of(secret, now_us / period_us)) {}

Pseudonyms::Pseudonyms() : salted_(random_bytes()) {}

std::string Pseudonyms::of(std::string_view who) const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const HmacKey::Digest digest = salted_(who);
  std::string name = "~";
  for (std::size_t i = 0; i < kShownBytes; ++i) {
    name += kDigits[digest[i] >> 4];
    name += kDigits[digest[i] & 15];
  }
  return name;
}

}  // namespace sluice

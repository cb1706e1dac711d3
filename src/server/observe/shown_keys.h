#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/secret/pseudonyms.h"
#include "base/secret/secret_ring.h"

namespace sluice::server {

// How the keys of checks are shown outside of the process, in spans and in the log. Not thread-safe.
//
// With key secrets a key is shown as its pseudonym of the day: the one that `sluice plan --pseudonyms` shows
// with the same secrets. Without them nobody can name it so, and the choice is `otherwise`.
class ShownKeys {
 public:
  enum class Otherwise : std::uint8_t { kHide, kShow };

  // `secrets`: null if there are none; outlives it.
  ShownKeys(const SecretRing* secrets, Otherwise otherwise) : secrets_(secrets), otherwise_(otherwise) {}

  // Empty: it is not shown.
  std::string shown(std::string_view key, std::int64_t now_us) {
    if (key.empty()) return {};
    if (!secrets_) return otherwise_ == Otherwise::kShow ? std::string(key) : std::string();
    const std::int64_t day = now_us / kDayUs;
    if (!names_ || day != day_ || secrets_->version() != version_) {
      day_ = day;
      version_ = secrets_->version();
      names_.emplace(secrets_->secret(), now_us);
    }
    return names_->of(key);
  }

 private:
  const SecretRing* const secrets_;
  const Otherwise otherwise_;
  std::optional<Pseudonyms> names_;
  std::int64_t day_ = 0;
  int version_ = 0;
};

}  // namespace sluice::server

#include "base/secret/secret_ring.h"

#include <algorithm>

#include "base/try.h"

namespace sluice {
namespace {

std::string number(std::size_t i, const char* field) { return '[' + std::to_string(i) + "]." + field; }

}  // namespace

Result<void> SecretRing::check(const std::vector<KeySecret>& secrets, std::int64_t now_us) const {
  const Lock lock(mutex_);
  return validate(secrets, now_us);
}

Result<void> SecretRing::validate(const std::vector<KeySecret>& secrets, std::int64_t now_us) const {
  std::size_t fresh = 0;
  bool in_force = false;
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    const KeySecret& each = secrets[i];
    if (std::ranges::count(secrets, each.version, &KeySecret::version) > 1)
      return invalid(number(i, "version"), "version " + std::to_string(each.version) +
                                               " is listed twice; each secret needs its own version");
    const Version* const known = find(each.version);
    if (known && known->secret != each.secret)
      return invalid(number(i, "secret"), "version " + std::to_string(each.version) +
                                              " had another secret; a new secret needs a new version");
    fresh += !known;
    in_force |= each.from_us <= now_us;
  }
  if (!in_force) return invalid("", "no version is in force; at least one must begin in the past");
  if (known_.size() + fresh > kVersionsMax)
    return invalid("", "this process has seen " + std::to_string(kVersionsMax) + " versions; restart it");
  return {};
}

Result<void> SecretRing::take(const std::vector<KeySecret>& secrets, std::int64_t now_us) {
  const Lock lock(mutex_);
  SLUICE_TRY(validate(secrets, now_us));
  turns_.clear();
  for (const KeySecret& each : secrets) {
    if (!find(each.version)) known_.emplace_back(each);
    turns_.push_back({each.from_us, find(each.version)});
  }
  std::ranges::sort(turns_, {}, [](const Turn& turn) { return turn.version->version; });
  choose(now_us);
  return {};
}

void SecretRing::advance(std::int64_t now_us) {
  const Lock lock(mutex_);
  choose(now_us);
}

std::vector<const HmacKey*> SecretRing::every_key() const {
  const Lock lock(mutex_);
  const HmacKey* const in_force = &key();
  std::vector<const HmacKey*> keys = {in_force};
  for (const Version& each : known_)
    if (&each.key != in_force) keys.push_back(&each.key);
  return keys;
}

const SecretRing::Version* SecretRing::find(int version) const {
  const auto found = std::ranges::find(known_, version, &Version::version);
  return found == known_.end() ? nullptr : &*found;
}

// Selects the highest version whose time has come.
void SecretRing::choose(std::int64_t now_us) {
  for (const Turn& turn : turns_)
    if (turn.from_us <= now_us) current_.store(turn.version, std::memory_order_release);
}

}  // namespace sluice

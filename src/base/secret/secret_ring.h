#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "base/secret/hash.h"
#include "base/secret/hmac.h"

namespace sluice {

// A secret from the operator, and the time from which it is used.
struct KeySecret {
  int version = 0;
  std::int64_t from_us = 0;
  std::string secret;
};

// The secret from which the names of counters are derived, and its successors. Thread-safe.
//
// To replace a secret, the operator adds one with a higher version and a time in the future, on every node.
// At that time all nodes switch to the new one, and the counters start from zero under new names.
class SecretRing {
 public:
  static constexpr std::size_t kVersionsMax = 64;  // that one process can know during its life

  // Replaces the secrets. Earlier ones are dropped, but a version keeps its secret for the life of the
  // process. On an error nothing changes: two secrets with the same version, a version with another secret
  // than before, or none in force.
  Result<void> take(const std::vector<KeySecret>& secrets, std::int64_t now_us);
  // The error that take() would return. What is good now stays good while only time passes.
  Result<void> check(const std::vector<KeySecret>& secrets, std::int64_t now_us) const;
  // Activates the secret that is due at this time.
  void advance(std::int64_t now_us);

  // REQUIRES, for these: take() has succeeded once.
  int version() const { return current_.load(std::memory_order_acquire)->version; }
  const HmacKey& key() const { return current_.load(std::memory_order_acquire)->key; }
  // Of every version that this process has known, the one in force first.
  std::vector<const HmacKey*> every_key() const;
  const std::string& secret() const { return current_.load(std::memory_order_acquire)->secret; }

 private:
  struct Version {
    explicit Version(const KeySecret& of) : version(of.version), secret(of.secret), key(of.secret) {}
    const int version;
    const std::string secret;
    const HmacKey key;
  };
  struct Turn {
    std::int64_t from_us;
    const Version* version;
  };
  Result<void> validate(const std::vector<KeySecret>& secrets, std::int64_t now_us) const
      SLUICE_REQUIRES(mutex_);
  const Version* find(int version) const SLUICE_REQUIRES(mutex_);
  void choose(std::int64_t now_us) SLUICE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::deque<Version> known_ SLUICE_GUARDED_BY(mutex_);  // never shrinks, because elements may be in use
  std::vector<Turn> turns_ SLUICE_GUARDED_BY(mutex_);    // by version
  std::atomic<const Version*> current_ = nullptr;
};

// The hashes that KeyHasher::with_hmac() makes with every version that the ring has known, the one in force
// first.
std::vector<KeyHash> hashes_by_every_secret(const SecretRing& ring, std::string_view bytes);

}  // namespace sluice

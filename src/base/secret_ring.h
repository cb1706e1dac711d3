#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/hmac.h"

namespace sluice {

// A secret of the operator's, and from when on it is the one to use.
struct KeySecret {
  int version = 0;
  std::int64_t from_us = 0;
  std::string secret;
};

// The secret by which counters get their names, and its successors. Thread-safe.
//
// A secret that is to be replaced is followed by one of a higher version with a moment in the future, on
// every node; at that moment all of them go on with the new one, and the counters begin anew under new names.
class SecretRing {
 public:
  static constexpr std::size_t kVersionsMax = 64;  // known to one process in its life

  // These are the secrets now; the ones before are forgotten, but a version keeps its secret for the life of
  // the process. Nothing changes if there is an error: two versions of one number, a version with another
  // secret than before, none in force.
  Result<void> take(const std::vector<KeySecret>& secrets, std::int64_t now_us);
  // Time passes.
  void advance(std::int64_t now_us);

  // REQUIRES, of these: take() has succeeded once.
  int version() const { return current_.load(std::memory_order_acquire)->version; }
  const HmacKey& key() const { return current_.load(std::memory_order_acquire)->key; }
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
  const Version* find(int version) const;
  void choose(std::int64_t now_us);

  std::mutex mutex_;
  std::deque<Version> known_;  // guarded by mutex_; never shrinks, because others may be using one
  std::vector<Turn> turns_;    // guarded by mutex_; by version
  std::atomic<const Version*> current_ = nullptr;
};

}  // namespace sluice

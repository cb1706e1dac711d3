// Lease ids come from anybody. Whatever they say, they are refused at once or read as they were written.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <tuple>

#include "base/limits.h"
#include "base/limits/lease_limits.h"
#include "base/testing/seed.h"
#include "base/text/encode.h"
#include "engine/lease/lease.h"

namespace sluice {
namespace {

class LeaseIdTest : public ::testing::Test {
 protected:
  std::size_t below(std::size_t end) { return random_() % end; }
  std::string random_text(std::size_t bytes) {
    std::string text(bytes, '\0');
    for (char& byte : text) byte = static_cast<char>(random_());
    return text;
  }
  LeaseClaim random_claim() {
    LeaseClaim claim;
    for (std::string* text : {&claim.policy_id, &claim.tenant, &claim.resource, &claim.key})
      *text = random_text(below(40));
    claim.request_id = random_text(1 + below(40));
    claim.want = 1 + static_cast<std::int64_t>(below(kLeaseUnitsMax));
    claim.granted = 1 + static_cast<std::int64_t>(below(static_cast<std::size_t>(claim.want)));
    claim.granted_at_us = 1'800'000'000'000'000;
    claim.terms = static_cast<std::uint16_t>(random_());
    for (std::size_t left = below(kDimensionsMax + 1); left > 0; --left)
      claim.dimensions.emplace_back(random_text(below(9)), random_text(below(9)));
    for (std::size_t left = below(kLimitsPerCheckMax + 1); left > 0; --left)
      claim.charged.push_back({{.allowed = true,
                                .remaining = static_cast<std::int64_t>(below(kCostMax)),
                                .reset_after_us = static_cast<std::int64_t>(below(kPeriodUsMax))},
                               claim.granted_at_us});
    return claim;
  }
  static void expect_same(const LeaseClaim& one, const LeaseClaim& other) {
    EXPECT_EQ(std::tie(one.policy_id, one.tenant, one.resource, one.key, one.request_id, one.dimensions),
              std::tie(other.policy_id, other.tenant, other.resource, other.key, other.request_id,
                       other.dimensions));
    EXPECT_EQ(std::tie(one.want, one.granted, one.granted_at_us, one.terms),
              std::tie(other.want, other.granted, other.granted_at_us, other.terms));
    EXPECT_EQ(one.charged.size(), other.charged.size());
  }
  void expect_refused(std::string_view id, const char* what) const {
    const auto read = read_lease_id(id, hasher_);
    ASSERT_FALSE(read) << what << ": " << id;
    EXPECT_EQ(read.error().code, ErrorCode::kNotFound) << what;
  }

  const std::uint64_t seed_ = test_seed();
  std::mt19937_64 random_{seed_};
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, "SLUICE_SEED=" + std::to_string(seed_)};
  const KeyHasher hasher_ = KeyHasher::from_text("a secret");
};

TEST_F(LeaseIdTest, WhatWasWrittenIsRead) {
  for (int i = 0; i < 300; ++i) {
    const LeaseClaim claim = random_claim();
    const auto read = read_lease_id(to_lease_id(claim, hasher_), hasher_);
    ASSERT_TRUE(read);
    expect_same(*read, claim);
  }
}

TEST_F(LeaseIdTest, AChangedIdIsRefused) {
  for (int i = 0; i < 2'000; ++i) {
    const std::string id = to_lease_id(random_claim(), hasher_);
    std::string changed = id;
    const std::size_t at = below(id.size());
    switch (below(5)) {
      case 0:
        changed[at] = static_cast<char>(random_());
        break;
      case 1:
        changed[at] = "0123456789abcdef"[below(16)];
        break;
      case 2:
        changed.erase(at, 1 + below(20));
        break;
      case 3:
        changed.insert(at, to_hex(random_text(1 + below(20))));
        break;
      default:
        changed += to_lease_id(random_claim(), hasher_).substr(below(40));
    }
    const bool says_the_same = from_hex(changed) == from_hex(id);  // in capitals, perhaps
    if (!says_the_same && !changed.empty()) expect_refused(changed, "changed");
  }
}

TEST_F(LeaseIdTest, NoiseIsRefused) {
  for (int i = 0; i < 2'000; ++i) {
    const std::size_t bytes = 1 + below(below(10) == 0 ? 2 * kLeaseIdBytesMax : 200);
    expect_refused(random_text(bytes), "bytes");
    expect_refused("01" + to_hex(random_text(bytes)), "hexadecimal");
  }
}

// With a known secret, anybody can seal what they like.
TEST_F(LeaseIdTest, ASealDoesNotMakeNonsenseTrue) {
  const auto expect_refused_with = [&](const char* what, const std::function<void(LeaseClaim&)>& change) {
    LeaseClaim claim = random_claim();
    change(claim);
    expect_refused(to_lease_id(claim, hasher_), what);
  };
  expect_refused_with("no request id", [](LeaseClaim& claim) { claim.request_id.clear(); });
  expect_refused_with("nothing granted", [](LeaseClaim& claim) { claim.granted = 0; });
  expect_refused_with("more than wanted", [](LeaseClaim& claim) { claim.granted = claim.want + 1; });
  expect_refused_with("too many units",
                      [](LeaseClaim& claim) { claim.want = claim.granted = kLeaseUnitsMax + 1; });
  expect_refused_with("any time", [](LeaseClaim& claim) { claim.granted_at_us = kExactMax; });
  expect_refused_with("dimensions", [](LeaseClaim& claim) { claim.dimensions.resize(kDimensionsMax + 1); });
  expect_refused_with("limits", [](LeaseClaim& claim) { claim.charged.resize(kLimitsPerCheckMax + 1); });
  expect_refused_with("a reset in a thousand years", [](LeaseClaim& claim) {
    claim.charged.push_back({{.allowed = true, .remaining = 0, .reset_after_us = kExactMax}});
  });
}

TEST_F(LeaseIdTest, AnIdIsReadToItsBoundAndNotBeyond) {
  LeaseClaim claim = random_claim();
  claim.dimensions.clear();
  claim.resource.clear();
  claim.resource.resize((kLeaseIdBytesMax - to_lease_id(claim, hasher_).size()) / 2);
  const std::string longest = to_lease_id(claim, hasher_);
  EXPECT_EQ(longest.size(), kLeaseIdBytesMax);
  EXPECT_TRUE(read_lease_id(longest, hasher_));
  claim.resource += 'x';
  expect_refused(to_lease_id(claim, hasher_), "too long");
}

}  // namespace
}  // namespace sluice

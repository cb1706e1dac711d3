// What a lease means, checked for every Store.
#include "algorithm/testing/every_algorithm.h"
#include "base/limits.h"
#include "store/testing/dedupe_conformance.h"

namespace sluice {
namespace {

constexpr std::int64_t kLifeUs = 600'000'000;

void make_lease(TestCall& call, std::uint64_t id) {
  call.is_lease = true;
  call.dedupe = Dedupe{.id = {77, id}, .fingerprint = id, .ttl_us = kLifeUs, .terms = 7};
}

// Returns `units` of a lease. The results must be those of the lease.
void make_return(TestCall& call, const TestCall& lease, std::uint64_t id) {
  make_lease(call, id);
  call.refund_of_us = lease.now_us;
  for (std::size_t i = 0; i < lease.results.size(); ++i) call.results[i] = lease.results[i];
}

TEST_P(DedupeConformance, ALeaseTakesWhatThereIsUpToWhatIsWanted) {
  struct Row {
    const char* what;
    std::int64_t used;  // of 10 in the first counter, of 20 in the second
    std::int64_t want;
    std::int64_t granted;
  };
  const Row rows[] = {
      {"less than there is", 0, 4, 4},
      {"all there is", 0, 10, 10},
      {"more than there is", 0, 1000, 10},
      {"more than is left", 7, 1000, 3},
      {"the last one", 9, 5, 1},
      {"nothing is left", 10, 5, 0},
      {"the most that can be asked", 0, 65'535, 10},
  };
  for (const Algorithm algorithm : kEveryAlgorithm) {
    const ParamsId ten = limit(algorithm, 10), twenty = limit(Algorithm::kGcra, 20);
    for (std::uint64_t i = 0; i < std::size(rows); ++i) {
      const Row& row = rows[i];
      SCOPED_TRACE(testing::Message() << row.what << ", algorithm " << static_cast<int>(algorithm));
      const std::string name = std::to_string(i) + "/" + std::to_string(static_cast<int>(algorithm));
      const KeyHash first = key("ten" + name), second = key("twenty" + name);
      if (row.used > 0) {
        TestCall use({{first, ten, row.used}});
        finish(use);
        ASSERT_EQ(use.verdict, Verdict::kAllowed);
      }
      TestCall lease({{first, ten, row.want}, {second, twenty, row.want}});
      make_lease(lease, 100 * static_cast<std::uint64_t>(algorithm) + i);
      finish(lease);
      EXPECT_EQ(lease.verdict, row.granted > 0 ? Verdict::kAllowed : Verdict::kDenied);
      EXPECT_EQ(lease.granted, row.granted);
      ASSERT_EQ(lease.results_known, 2U);
      EXPECT_EQ(lease.results[0].outcome.remaining, 10 - row.used - row.granted);
      if (row.granted == 0) EXPECT_GT(lease.results[0].outcome.retry_after_us, 0);
      EXPECT_EQ(left(first, ten), 10 - row.used - row.granted);
      EXPECT_EQ(left(second, twenty), 20 - row.granted);
    }
  }
}

TEST_P(DedupeConformance, ARepeatedLeaseIsGrantedOnce) {
  const ParamsId ten = limit(Algorithm::kGcra, 10);
  TestCall first({{key("a"), ten, 6}}), again({{key("a"), ten, 6}}), other({{key("a"), ten, 6}});
  make_lease(first, 1);
  make_lease(again, 1);
  make_lease(other, 2);
  finish(first);
  finish(again);
  EXPECT_EQ(first.granted, 6);
  EXPECT_EQ(again.granted, 6);
  expect_same_answer(first, again);
  finish(other);
  EXPECT_EQ(other.granted, 4);
  EXPECT_EQ(left(key("a"), ten), 0);
}

TEST_P(DedupeConformance, ALeaseThatWasDeniedIsDecidedAnew) {
  const ParamsId ten = limit(Algorithm::kGcra, 10);
  TestCall use({{key("b"), ten, 10}}), denied({{key("b"), ten, 6}}), again({{key("b"), ten, 6}});
  finish(use);
  make_lease(denied, 1);
  make_lease(again, 1);
  finish(denied);
  EXPECT_EQ(denied.granted, 0);
  reset(key("b"));
  finish(again);
  EXPECT_FALSE(again.replayed);
  EXPECT_EQ(again.granted, 6);
}

TEST_P(DedupeConformance, UnusedUnitsComeBackOnce) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    SCOPED_TRACE(static_cast<int>(algorithm));
    const auto id = static_cast<std::uint64_t>(algorithm);
    const KeyHash first = key("r" + std::to_string(id)), second = key("s" + std::to_string(id));
    const ParamsId ten = limit(algorithm, 10), twenty = limit(Algorithm::kFixedWindow, 20);
    TestCall lease({{first, ten, 8}, {second, twenty, 8}});
    make_lease(lease, id);
    finish(lease);
    ASSERT_EQ(lease.granted, 8);
    TestCall unused({{first, ten, 5}, {second, twenty, 5}}), again({{first, ten, 5}, {second, twenty, 5}});
    make_return(unused, lease, id);
    finish(unused);
    EXPECT_FALSE(unused.replayed);
    EXPECT_EQ(left(first, ten), 7);
    EXPECT_EQ(left(second, twenty), 17);
    make_return(again, lease, id);
    finish(again);
    EXPECT_TRUE(again.replayed) << "the lease is gone";
    EXPECT_EQ(left(first, ten), 7);
  }
}

TEST_P(DedupeConformance, NoMoreComesBackThanWasGranted) {
  const ParamsId ten = limit(Algorithm::kGcra, 10);
  TestCall use({{key("c"), ten, 7}}), lease({{key("c"), ten, 8}}), unused({{key("c"), ten, 8}});
  finish(use);
  make_lease(lease, 1);
  finish(lease);
  ASSERT_EQ(lease.granted, 3);
  make_return(unused, lease, 1);
  finish(unused);
  EXPECT_EQ(unused.granted, 3) << "what other slots must know";
  EXPECT_EQ(left(key("c"), ten), 3);
}

TEST_P(DedupeConformance, AnotherLeasesUnitsAreNotReturned) {
  const ParamsId ten = limit(Algorithm::kGcra, 10);
  TestCall lease({{key("d"), ten, 8}});
  make_lease(lease, 1);
  finish(lease);
  struct Row {
    const char* what;
    std::uint64_t id;
    std::uint64_t fingerprint;
    std::int64_t at_us;
    std::uint16_t terms = 7;
  };
  for (const Row& row :
       {Row{"an id that nobody has", 2, 2, lease.now_us},
        Row{"another holder's fingerprint", 1, 9, lease.now_us}, Row{"another time", 1, 1, lease.now_us + 1},
        Row{"other limits than it was taken from", 1, 1, lease.now_us, 8}}) {
    SCOPED_TRACE(row.what);
    TestCall unused({{key("d"), ten, 8}});
    make_return(unused, lease, row.id);
    unused.dedupe->fingerprint = row.fingerprint;
    unused.dedupe->terms = row.terms;
    unused.refund_of_us = row.at_us;
    finish(unused);
    EXPECT_TRUE(unused.replayed || unused.conflict);
    EXPECT_EQ(left(key("d"), ten), 2);
  }
}

}  // namespace
}  // namespace sluice

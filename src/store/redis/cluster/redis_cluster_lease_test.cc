#include <gmock/gmock.h>

#include "base/limits/lease_limits.h"
#include "store/redis/testing/cluster_store_fixture.h"

namespace sluice {
namespace {

// Leases on two slots of a real cluster: ten units on the first, of which each has its own node.
class RedisClusterLeaseTest : public ClusterStoreFixture {
 protected:
  void SetUp() override {
    ClusterStoreFixture::SetUp();
    if (!HasFatalFailure()) make_connected_store(options());
  }

  std::vector<Charge> wants(std::int64_t units) {
    return {charge("first", tag_on(0), units, first_has_), charge("second", tag_on(1), units, second_has_)};
  }
  void make_lease(TestCall& call, const char* id = "request 1") const {
    call.is_lease = true;
    call.dedupe = Dedupe{key(id), 77, kLeaseLifeUs};
    call.deadline_us = in_us(10 * kSecond);
  }
  std::int64_t lease(TestCall& call, const char* id = "request 1") {
    make_lease(call, id);
    finish(call);
    return call.granted;
  }
  // False: there is no such lease.
  bool give_back(const TestCall& lease, std::int64_t unused) {
    TestCall call(wants(unused));
    make_lease(call);
    call.refund_of_us = lease.now_us;
    std::ranges::copy(lease.results, call.results.begin());
    finish(call);
    EXPECT_TRUE(call.allowed());
    return !call.replayed;
  }
  void expect_used(std::int64_t first, std::int64_t second) {
    const std::vector<Charge> charges = wants(1);
    EXPECT_TRUE(run_until([&] { return used(charges[0]) == first; }));
    EXPECT_TRUE(run_until([&] { return used(charges[1]) == second; })) << used(charges[1]);
  }

  std::int64_t first_has_ = 10, second_has_ = 10;
};

TEST_F(RedisClusterLeaseTest, TheSlotWithTheLeastRoomDecides) {
  for (const bool first : {true, false}) {
    (first ? first_has_ : second_has_) = 4;
    TestCall call(wants(6));
    EXPECT_EQ(lease(call, first ? "request 1" : "request 2"), first ? 4 : 0) << "then the first is used up";
    expect_used(4, 4);
  }
}

TEST_F(RedisClusterLeaseTest, WhatTheSecondSlotGrantsTheFirstIsAskedFor) {
  second_has_ = 3;
  TestCall call(wants(6));
  EXPECT_EQ(lease(call), 3);
  expect_used(3, 3);
}

TEST_F(RedisClusterLeaseTest, AReturnGivesBackOnEverySlotOnce) {
  TestCall call(wants(8));
  EXPECT_EQ(lease(call), 8);
  EXPECT_TRUE(give_back(call, 5));
  expect_used(3, 3);
  EXPECT_FALSE(give_back(call, 5));
  expect_used(3, 3);
}

TEST_F(RedisClusterLeaseTest, AReturnGivesBackNoMoreThanWasGrantedWhateverTheHolderClaims) {
  second_has_ = 100;
  TestCall others({charge("second", tag_on(1), 60, second_has_)}), call(wants(8));
  finish(others);
  ASSERT_EQ(lease(call), 8);
  EXPECT_TRUE(give_back(call, 60));
  expect_used(0, 60);
}

TEST_F(RedisClusterLeaseTest, ARepeatIsTheSameLease) {
  TestCall call(wants(10)), repeat(wants(10));
  EXPECT_EQ(lease(call), 10);
  EXPECT_EQ(lease(repeat), 10) << "although no slot has room";
  EXPECT_TRUE(repeat.replayed);
  EXPECT_EQ(repeat.now_us, call.now_us);
  expect_used(10, 10);
  EXPECT_TRUE(give_back(repeat, 4));
  expect_used(6, 10);  // when the second was charged the repeat does not say
}

TEST_F(RedisClusterLeaseTest, ARepeatTakesNothing) {
  TestCall call(wants(3)), repeat(wants(3));
  EXPECT_EQ(lease(call), 3);
  EXPECT_EQ(lease(repeat), 3);
  EXPECT_TRUE(repeat.replayed);
  expect_used(3, 3);
}

// A lease that was spent and returned, and another with the same id: all of its slots are charged again.
TEST_F(RedisClusterLeaseTest, AnIdThatComesAgainAfterTheReturnIsChargedOnEverySlot) {
  first_has_ = 1000;
  std::int64_t spent = 0;
  for (int i = 0; i < 5; ++i) {
    TestCall call(wants(4));
    spent += lease(call);
    EXPECT_FALSE(call.replayed);
    if (call.granted > 0) EXPECT_TRUE(give_back(call, 0));
  }
  EXPECT_EQ(spent, second_has_);
  expect_used(10, 10);
}

TEST_F(RedisClusterLeaseTest, WithoutRoomOnOneSlotNothingIsTakenFromTheOther) {
  TestCall others({wants(10)[1]}), call(wants(5));
  EXPECT_TRUE(finish(others).allowed());
  EXPECT_EQ(lease(call), 0);
  EXPECT_EQ(call.verdict, Verdict::kDenied);
  EXPECT_GT(call.results[1].outcome.retry_after_us, 0);
  expect_used(0, 10);
}

}  // namespace
}  // namespace sluice

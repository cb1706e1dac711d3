#include "policy/warnings/denies_everyone.h"

#include <gtest/gtest.h>

#include "policy/testing/policies.h"

namespace sluice {
namespace {

bool denies(const std::string& fields) {
  return denies_everyone(testing::policies_of("policies: [{id: p, " + fields + "}]").at(0));
}

TEST(DeniesEveryone, ARateOfZeroForAll) {
  EXPECT_TRUE(denies("limits: [{rate: 0/s}]"));
  EXPECT_TRUE(denies("tenant: '*', resource: '*', limits: [{rate: 0/s}]"));
  EXPECT_TRUE(denies("resource: /*, limits: [{rate: 0/s}]"));
  EXPECT_TRUE(denies("limits: [{rate: 0/s}], rollout: {percent: 50}"));
  EXPECT_TRUE(denies("limits: [{rate: 10/s}, {rate: 0/d, algorithm: fixed_window}]"));
  EXPECT_TRUE(denies("always: true, limits: [{rate: 0/s, per: [user]}]"));
  EXPECT_TRUE(denies("limits: [{rate: 0/s}], rollout: {valid_from: 2026-12-01T00:00:00Z}"));
  EXPECT_TRUE(denies("limits: [{rate: 0/s}], costs: {'*': 0}"));  // even requests with cost 0 are denied
}

TEST(DeniesEveryone, NotWhenSomebodyIsLeft) {
  EXPECT_FALSE(denies("limits: [{rate: 1/366d}]"));
  EXPECT_FALSE(denies("tenant: t, limits: [{rate: 0/s}]"));
  EXPECT_FALSE(denies("resource: /a/*, limits: [{rate: 0/s}]"));
  EXPECT_FALSE(denies("shadow: true, limits: [{rate: 0/s}]"));
  EXPECT_FALSE(denies("limits: [{rate: 0/s}], rollout: {percent: 49}"));
}

TEST(DeniesEveryone, CapacityBelowEveryCost) {
  EXPECT_TRUE(denies("limits: [{rate: 100/s, burst: 9}], costs: {'*': 10, /large: 20}"));
  EXPECT_FALSE(denies("limits: [{rate: 100/s, burst: 10}], costs: {'*': 10, /large: 20}"));
  EXPECT_FALSE(denies("limits: [{rate: 100/s, burst: 9}], costs: {'*': 10, /small: 9}"));
  EXPECT_FALSE(denies("limits: [{rate: 100/s, burst: 9}], costs: {/large: 20}"));  // the rest costs 1
}

TEST(DeniesEveryone, ATierMayBeTheWayIn) {
  EXPECT_FALSE(denies("limits: [{name: n, rate: 0/s}], tiers: {staff: {n: {rate: 1/s}}}"));
  EXPECT_FALSE(denies("limits: [{name: n, rate: 0/s}], tiers: {guests: {}, staff: {n: {rate: 1/s}}}"));
  EXPECT_TRUE(denies("limits: [{name: n, rate: 0/s}], tiers: {guests: {}}"));
  EXPECT_FALSE(denies("limits: [{name: n, rate: 1/s}], tiers: {guests: {n: {rate: 0/s}}}"));
}

}  // namespace
}  // namespace sluice

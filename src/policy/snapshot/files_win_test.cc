// Policies of files come into force whatever the ledger has; what is in their way waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/snapshot/catalog.h"
#include "policy/testing/policies.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class FilesWinTest : public ::testing::Test {
 protected:
  static Policy make(const std::string& id, const std::string& resource, std::int64_t rate,
                     std::size_t limits = 1) {
    Policy policy;
    policy.id = id;
    policy.tenant = "shop";
    policy.resource = resource;
    for (std::size_t i = 0; i < limits; ++i)
      policy.limits.push_back({.name = "l" + std::to_string(i),
                               .per = {"user"},
                               .params = make_limit_params(Algorithm::kGcra, {rate, 1'000'000}, {}).value()});
    return policy;
  }
  static Policy make_always(const std::string& id, std::size_t limits) {
    Policy policy = make(id, "/" + id + "/*", 1, limits);
    policy.always = true;
    return policy;
  }
  std::int64_t rate_of(const std::string& id) const {
    const CompiledPolicy* const policy = catalog_.current()->find(id);
    return policy ? policy->source.limits[0].params.rate.count : 0;
  }

  ParamsTable params_;
  SnapshotPublisher snapshots_;
  PolicyCatalog catalog_{snapshots_, params_};
};

TEST_F(FilesWinTest, TheIdGoesToTheFileAndComesBack) {
  ASSERT_TRUE(catalog_.change({.put = {make("a", "/a", 1), make("b", "/b", 1)}}));
  const auto taken = catalog_.replace_files({make("a", "/file", 2)});
  ASSERT_TRUE(taken);
  EXPECT_THAT(*taken, ElementsAre(Pair("a", "a policy file has a policy with this id")));
  EXPECT_EQ(rate_of("a"), 2);
  EXPECT_EQ(rate_of("b"), 1);
  EXPECT_TRUE(catalog_.is_from_file("a"));
  ASSERT_TRUE(catalog_.replace_files({make("a", "/file", 3)}));
  EXPECT_EQ(rate_of("a"), 3);
  EXPECT_EQ(catalog_.left_out().size(), 1u);
  ASSERT_TRUE(catalog_.replace_files({}));
  EXPECT_EQ(rate_of("a"), 1);
  EXPECT_THAT(catalog_.left_out(), IsEmpty());
}

TEST_F(FilesWinTest, SoDoesThePlace) {
  ASSERT_TRUE(catalog_.change({.put = {make("a", "/a", 1), make("b", "/b", 1)}}));
  ASSERT_TRUE(catalog_.replace_files({make("file", "/a", 2)}));
  EXPECT_EQ(rate_of("file"), 2);
  EXPECT_EQ(rate_of("a"), 0);
  EXPECT_EQ(rate_of("b"), 1);
  EXPECT_THAT(catalog_.left_out(), ElementsAre(Pair("a", HasSubstr("the same tenant and resource"))));
  ASSERT_TRUE(catalog_.replace_files({make("file", "/elsewhere", 2)}));
  EXPECT_EQ(rate_of("a"), 1);
}

TEST_F(FilesWinTest, SoDoesTheRoomForLimits) {
  ASSERT_TRUE(catalog_.change({.put = {make_always("a", 16), make("b", "/b", 1)}}));
  ASSERT_TRUE(catalog_.replace_files({make_always("file", 16), make_always("other", 1)}));
  EXPECT_EQ(rate_of("file"), 1);
  EXPECT_EQ(rate_of("a"), 0);
  EXPECT_EQ(rate_of("b"), 1);
}

TEST_F(FilesWinTest, ACandidateMakesRoomForFiles) {
  ASSERT_TRUE(catalog_.change({.put = {make_always("a", 1)}}));
  ASSERT_TRUE(catalog_.put_candidate({.policy = make_always("a", 16), .percent = 10}));
  const auto replaced = catalog_.replace_files({make_always("file", 16), make_always("other", 15)});
  ASSERT_TRUE(replaced) << replaced.error().message;
  EXPECT_THAT(*replaced, IsEmpty());
  EXPECT_EQ(rate_of("a"), 1);
  EXPECT_FALSE(catalog_.current()->find("a")->candidate);
}

TEST_F(FilesWinTest, ACandidateMakesRoomForPoliciesAndKeepsNoneInForce) {
  ASSERT_TRUE(catalog_.replace_files({make_always("file", 14)}));
  ASSERT_TRUE(catalog_.change({.put = {make_always("a", 1), make_always("b", 1)}}));
  ASSERT_TRUE(catalog_.put_candidate({.policy = make_always("a", 16), .percent = 10}));
  EXPECT_THAT(catalog_.change_ledger({{"l", make_always("l", 16)}}), IsEmpty());
  EXPECT_FALSE(catalog_.current()->find("a")->candidate);
  EXPECT_THAT(catalog_.change_ledger({{"b", std::nullopt}}), IsEmpty());
  EXPECT_EQ(rate_of("b"), 0) << "what is withdrawn is out of force";
  EXPECT_EQ(rate_of("l"), 1);
}

TEST_F(FilesWinTest, FilesThatAreInvalidByThemselvesAreRefused) {
  ASSERT_TRUE(catalog_.change({.put = {make("a", "/a", 1)}}));
  ASSERT_TRUE(catalog_.replace_files({make("same", "/same", 1)}));
  const auto refused =
      catalog_.replace_files({make("same", "/same", 1), make("a", "/x", 2), make("y", "/x", 2)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().item, 2u) << "in the list of the files, of which the first is unchanged";
  EXPECT_EQ(rate_of("a"), 1);
  EXPECT_THAT(catalog_.left_out(), IsEmpty());
}

TEST_F(FilesWinTest, ALaterChangeOfTheLedgerDecidesWhatComesBack) {
  ASSERT_TRUE(catalog_.change({.put = {make("a", "/a", 1), make("b", "/b", 1)}}));
  ASSERT_TRUE(catalog_.replace_files({make("a", "/file", 2), make("file", "/b", 2)}));
  EXPECT_EQ(catalog_.left_out().size(), 2u);
  EXPECT_THAT(catalog_.change_ledger({{"a", std::nullopt}, {"b", std::nullopt}}), IsEmpty());
  ASSERT_TRUE(catalog_.replace_files({}));
  EXPECT_EQ(rate_of("a"), 0);
  EXPECT_EQ(rate_of("b"), 0);
}

}  // namespace
}  // namespace sluice

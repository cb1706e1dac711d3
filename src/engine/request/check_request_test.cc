#include "engine/request/check_request.h"

#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"

namespace sluice {
namespace {

CompiledDimension compiled(const std::string& name) {
  const std::pair<const char*, DimensionKind> fields[] = {{"tenant", DimensionKind::kTenant},
                                                          {"resource", DimensionKind::kResource},
                                                          {"route", DimensionKind::kResource},
                                                          {"key", DimensionKind::kKey},
                                                          {"user", DimensionKind::kUser}};
  for (const auto& [field, kind] : fields)
    if (name == field) return {kind, name};
  return {DimensionKind::kOther, name};
}

std::string value_of(const CheckRequest& request, const std::string& name) {
  return std::string(Dimensions(request).value_of(compiled(name)));
}

TEST(CheckRequest, DimensionsComeFromFieldsFirstThenFromTheMap) {
  const Dimension map[] = {{"tenant", "mallory"}, {"ip", "192.0.2.7"}, {"user", "u9"}};
  const CheckRequest request{.tenant = "alice", .resource = "/x", .key = "k", .dimensions = map};
  EXPECT_EQ(value_of(request, "tenant"), "alice") << "an entry in the map does not rename the tenant";
  EXPECT_EQ(value_of(request, "ip"), "192.0.2.7");
  EXPECT_EQ(value_of(request, "user"), "u9");
  EXPECT_EQ(value_of(request, "key"), "k");
  EXPECT_EQ(value_of(request, "route"), "/x");
  EXPECT_EQ(value_of(request, "resource"), "/x");
  EXPECT_EQ(value_of(request, "region"), "");
}

TEST(CheckRequest, TenantAndResourceMayComeAsDimensionsOnly) {
  const Dimension map[] = {{"tenant", "t7"}, {"route", "/x"}};
  const CheckRequest request{.dimensions = map};
  EXPECT_EQ(value_of(request, "tenant"), "t7");
  EXPECT_EQ(value_of(request, "resource"), "/x");
}

TEST(CheckRequest, KeyStandsForTheUserWhenNoneIsGiven) { EXPECT_EQ(value_of({.key = "u1"}, "user"), "u1"); }

TEST(CheckRequest, EveryBoundIsCheckedAndNamesItsField) {
  const std::string long_key(kKeyBytesMax + 1, 'x'), long_name(kNameBytesMax + 1, 'x'),
      long_resource(kResourceBytesMax + 1, 'x'), long_id(kRequestIdBytesMax + 1, 'x');
  const Dimension long_value[] = {{"ip", long_key}};
  const std::vector<Dimension> many(kDimensionsMax + 1, Dimension{"d", "v"});
  struct Row {
    CheckRequest request;
    std::string field;
  };
  for (const Row& row : {Row{{.policy_id = long_name}, "policy_id"},
                         {{.tenant = long_key}, "tenant_id"},
                         {{.resource = long_resource}, "resource"},
                         {{.key = long_key}, "key"},
                         {{.request_id = long_id}, "request_id"},
                         {{.cost = -1}, "cost"},
                         {{.cost = kCostMax + 1}, "cost"},
                         {{.dimensions = long_value}, "dimensions.ip"},
                         {{.dimensions = many}, "dimensions"}}) {
    const auto valid = validate(row.request);
    ASSERT_FALSE(valid) << row.field;
    EXPECT_EQ(valid.error().field, row.field);
  }
  EXPECT_TRUE(validate({.key = std::string_view(long_key).substr(1), .cost = kCostMax}));
}

TEST(CheckRequest, LongestValuesInEveryDimensionMakeAKey) {
  std::vector<CompiledDimension> key;
  for (const char* name : {"a", "b", "c", "d", "e", "resource", "route", "tenant"})
    key.push_back(compiled(name));
  CompiledLimit limit;
  limit.key = std::make_shared<const std::vector<CompiledDimension>>(std::move(key));
  const std::string value(kKeyBytesMax, 'v'), resource(kResourceBytesMax, '/');
  const Dimension map[] = {{"a", value}, {"b", value}, {"c", value}, {"d", value}, {"e", value}};
  const auto hasher = KeyHasher::from_text("test");
  const CheckRequest request{.tenant = value, .resource = resource, .dimensions = map};
  EXPECT_TRUE(counter_key(Dimensions(request), limit, hasher));
}

}  // namespace
}  // namespace sluice

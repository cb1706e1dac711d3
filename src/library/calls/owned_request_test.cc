#include "library/calls/owned_request.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

namespace sluice::library {
namespace {

TEST(OwnedRequest, OutlivesTheTextsOfTheCaller) {
  std::optional<OwnedRequest> owned;
  {
    const std::string key(50, 'k'), tenant(50, 't'), name(20, 'n'), value(20, 'v');
    const std::array<std::pair<std::string_view, std::string_view>, 2> dimensions = {
        {{name, value}, {"empty", ""}}};
    owned.emplace(Request{.key = key, .tenant = tenant, .dimensions = dimensions, .cost = 7});
  }
  const Request& request = owned->get();
  EXPECT_EQ(request.key, std::string(50, 'k'));
  EXPECT_EQ(request.tenant, std::string(50, 't'));
  EXPECT_EQ(request.resource, "");
  EXPECT_EQ(request.cost, 7);
  ASSERT_EQ(request.dimensions.size(), 2u);
  EXPECT_EQ(request.dimensions[0].first, std::string(20, 'n'));
  EXPECT_EQ(request.dimensions[0].second, std::string(20, 'v'));
  EXPECT_EQ(request.dimensions[1].second, "");
}

}  // namespace
}  // namespace sluice::library

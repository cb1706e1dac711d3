#include "doors/http/fields/query_string.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sluice::doors {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// The pairs of a query, or {{"!", ""}} if it is malformed.
Pairs pairs_of(std::string_view query) {
  std::string scratch;
  scratch.reserve(query.size());
  QueryReader reader(query, scratch);
  Pairs pairs;
  while (reader.next()) pairs.emplace_back(reader.name(), reader.value());
  return reader.ok() ? pairs : Pairs{{"!", ""}};
}

TEST(QueryString, ReadsPairs) {
  EXPECT_EQ(pairs_of("tenant_id=a&key=b"), (Pairs{{"tenant_id", "a"}, {"key", "b"}}));
  EXPECT_EQ(pairs_of("a=%20+%2B%c3%A9&b%3D=c"), (Pairs{{"a", "  +é"}, {"b=", "c"}}));
  EXPECT_EQ(pairs_of("a&b=&=c&&d=e=f&"), (Pairs{{"a", ""}, {"b", ""}, {"", "c"}, {"d", "e=f"}}));
  EXPECT_EQ(pairs_of(""), Pairs{});
}

TEST(QueryString, RefusesMalformedEscapes) {
  for (const std::string_view query : {"a=%", "a=%1", "a=%g1", "a=%1g", "%zz=a", "a=%ff", "a=%c3"})
    EXPECT_EQ(pairs_of(query), (Pairs{{"!", ""}})) << query;
}

}  // namespace
}  // namespace sluice::doors

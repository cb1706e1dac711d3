#include "net/http/header_list.h"

#include <gtest/gtest.h>

#include <utility>

namespace sluice::net {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs_of(const HeaderList& headers) {
  Pairs pairs;
  for (const auto& [name, value] : headers) pairs.emplace_back(name, value);
  return pairs;
}

TEST(HeaderList, keeps_headers_in_their_order_and_equal_names_apart) {
  HeaderList headers;
  headers.emplace_back("allow", "GET, HEAD");
  headers.emplace_back("x-empty", "");
  headers.emplace_back("allow", "POST");
  EXPECT_EQ(pairs_of(headers), (Pairs{{"allow", "GET, HEAD"}, {"x-empty", ""}, {"allow", "POST"}}));
  EXPECT_EQ(headers.size(), 3u);
  EXPECT_EQ(headers[2].name, "allow");
  EXPECT_EQ(headers[2].value, "POST");
}

TEST(HeaderList, is_written_as_http1_lines) {
  HeaderList headers;
  EXPECT_EQ(headers.http1_lines(), "");
  headers.emplace_back("retry-after", "1");
  headers.emplace_back("x-empty", {});
  EXPECT_EQ(headers.http1_lines(), "retry-after: 1\r\nx-empty: \r\n");
}

TEST(HeaderList, is_empty_after_clear) {
  HeaderList headers;
  EXPECT_TRUE(headers.empty());
  headers.emplace_back("retry-after", "1");
  EXPECT_FALSE(headers.empty());
  headers.clear();
  EXPECT_TRUE(headers.empty());
  EXPECT_EQ(headers.http1_lines(), "");
  headers.emplace_back("allow", "GET");
  EXPECT_EQ(pairs_of(headers), (Pairs{{"allow", "GET"}}));
}

TEST(HeaderList, survives_growth_and_moves) {
  HeaderList headers;
  Pairs expected;
  for (int i = 0; i < 100; ++i) {
    expected.emplace_back("x-" + std::to_string(i), std::string(static_cast<std::size_t>(i * 7), 'v'));
    headers.emplace_back(expected.back().first, expected.back().second);
  }
  const HeaderList moved = std::move(headers);
  EXPECT_EQ(pairs_of(moved), expected);
}

}  // namespace
}  // namespace sluice::net

#include "doors/http/origin/forwarded.h"

#include <gtest/gtest.h>

namespace sluice::doors {
namespace {

TEST(Forwarded, TheClientIsTheRightmostAddressNobodyTrusts) {
  const AddressSet trusted = *AddressSet::parse("10.0.0.0/8");
  const IpAddress peer = *IpAddress::parse("10.0.0.99");
  struct Row {
    std::string_view header;
    std::string_view client;
    std::string_view why;
  };
  for (const Row& row : {
           Row{"203.0.113.9", "203.0.113.9", "one hop"},
           {"203.0.113.9, 10.0.0.2", "203.0.113.9", "a second proxy of ours"},
           {"198.51.100.1, 203.0.113.9", "203.0.113.9", "what the client wrote itself stands on the left"},
           {"unknown, 203.0.113.9", "203.0.113.9", "garbage on the left is never looked at"},
           {" 203.0.113.9 ,10.0.0.2", "203.0.113.9", "spaces"},
           {"203.0.113.9:4711", "203.0.113.9", "a port"},
           {"[2001:db8::1]:4711", "2001:db8::1", "brackets and a port"},
           {"2001:DB8::1", "2001:db8::1", "one form for each address"},
           {"10.0.0.1, 10.0.0.2", "10.0.0.1", "all trusted: the leftmost"},
           {"", "10.0.0.99", "nothing there: the peer"},
           {"unknown", "10.0.0.99", "a proxy that hides its client"},
           {"203.0.113.9, _hidden, 10.0.0.2", "10.0.0.2", "the last hop that is known"},
           {"203.0.113.9,", "10.0.0.99", "an empty element"},
       }) {
    EXPECT_EQ(client_address(row.header, peer, trusted).to_string(), row.client) << row.why;
  }
}

TEST(Forwarded, ThePathOfAUri) {
  EXPECT_EQ(path_of_uri("/search?q=a"), "/search");
  EXPECT_EQ(path_of_uri("/search#top"), "/search");
  EXPECT_EQ(path_of_uri("https://example.com/a/b?c"), "/a/b");
  EXPECT_EQ(path_of_uri("https://example.com"), "/");
  EXPECT_EQ(path_of_uri("/go?to=http://example.com/x"), "/go");
  EXPECT_EQ(path_of_uri(""), "");
  EXPECT_EQ(path_of_uri("https://example.com?to=/a"), "/");
  EXPECT_EQ(path_of_uri("https://example.com#/a"), "/");
  EXPECT_EQ(path_of_uri("*?to=http://example.com/x"), "*");
}

TEST(Forwarded, APathIsDecodedAndThenBroughtIntoItsForm) {
  std::string resource = "before";
  ASSERT_TRUE(append_resource("/a%2F..%2f%73earch+%25", resource));
  EXPECT_EQ(resource, "before/search+%");
  for (const char* bad : {"/%", "/%zz", "/%ff"}) {
    const auto read = append_resource(bad, resource);
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().field, "resource");
  }
}

TEST(Forwarded, APathHasOneForm) {
  struct Row {
    std::string_view given;
    std::string_view normal;
  };
  for (const Row& row : {
           Row{"/", "/"},
           {"/a", "/a"},
           {"/a/", "/a/"},
           {"//a", "/a"},
           {"/a//b", "/a/b"},
           {"/a//", "/a/"},
           {"/./a/././b", "/a/b"},
           {"/a/.", "/a/"},
           {"/x/../a", "/a"},
           {"/a/b/..", "/a/"},
           {"/a/b/../../c/d", "/c/d"},
           {"/a/..", "/"},
           {"/..", "/"},
           {"/../../a", "/a"},
           {"///", "/"},
           {"/.a/..b/...", "/.a/..b/..."},
           {"*", "*"},
           {"a/../b", "a/../b"},
           {"", ""},
       }) {
    std::string text = "/before/" + std::string(row.given);
    normalize_path(text, 8);
    EXPECT_EQ(text, "/before/" + std::string(row.normal)) << row.given;
  }
}

}  // namespace
}  // namespace sluice::doors

#include "doors/http/origin/other_site.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::doors {
namespace {

bool is_elsewhere(const std::vector<net::Header>& headers) {
  return comes_from_another_site({.method = "POST", .path = "/v1/tokens", .headers = headers});
}

TEST(OtherSite, WhoTalksToThisMachineIsHere) {
  EXPECT_FALSE(is_elsewhere({}));
  for (const std::string_view host :
       {"127.0.0.1:8080", "127.0.0.1", "localhost:8080", "localhost", "[::1]:8080", "192.0.2.7:8080"})
    EXPECT_FALSE(is_elsewhere({{"host", host}})) << host;
  EXPECT_FALSE(is_elsewhere({{"host", "127.0.0.1:8080"}, {"origin", "http://127.0.0.1:8080"}}));
  EXPECT_FALSE(is_elsewhere({{"host", "localhost:1"}, {"sec-fetch-site", "same-origin"}}));
  EXPECT_FALSE(is_elsewhere({{"host", "localhost:1"}, {"sec-fetch-site", "none"}})) << "typed by a person";
}

TEST(OtherSite, APageOfAnotherSiteIsNot) {
  EXPECT_TRUE(is_elsewhere({{"host", "evil.example:8080"}})) << "its name points here";
  for (const std::string_view host : {"localhost.evil.example", "[::1].evil.example", "[::1", "[]"})
    EXPECT_TRUE(is_elsewhere({{"host", host}})) << host;
  EXPECT_TRUE(is_elsewhere({{"host", "127.0.0.1:8080"}, {"origin", "http://evil.example"}}));
  EXPECT_TRUE(is_elsewhere({{"host", "127.0.0.1:8080"}, {"origin", "null"}})) << "a sandbox, or a file";
  EXPECT_TRUE(is_elsewhere({{"host", "127.0.0.1:8080"}, {"origin", "http://127.0.0.1:9090"}}));
  EXPECT_TRUE(is_elsewhere({{"host", "127.0.0.1:8080"}, {"sec-fetch-site", "cross-site"}}));
}

TEST(OtherSite, OnlyTrustIsLost) {
  const net::Peer peer{.address = "127.0.0.1", .port = net::Port::kAll, .is_trusted = true, .names = {"a"}};
  const std::vector<net::Header> evil = {{"host", "evil.example"}};
  EXPECT_TRUE(peer_of({.peer = &peer}).is_trusted);
  EXPECT_FALSE(peer_of({.headers = evil, .peer = &peer}).is_trusted);
  EXPECT_EQ(peer_of({.headers = evil, .peer = &peer}).names, peer.names);
}

}  // namespace
}  // namespace sluice::doors

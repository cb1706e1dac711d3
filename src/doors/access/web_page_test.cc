// Pages of other sites cannot use up limits; requests of proxies on behalf of browsers are answered.
#include "doors/testing/doors_fixture.h"

namespace sluice::doors::testing {
namespace {

using Headers = std::vector<net::Header>;

class WebPageTest : public DoorsFixture {
 protected:
  int status(std::string_view method, std::string_view path, const Headers& headers) {
    const std::string_view body =
        path == "/v1/ratelimit/check" ? R"({"policy_id":"api","key":"u1"})"
        : path == "/json" ? R"({"domain":"d","descriptors":[{"entries":[{"key":"k","value":"v"}]}]})"
                          : R"({"checks":[{"policy_id":"api","key":"u1"}]})";
    return send({.method = method,
                 .path = path,
                 .query = path == "/v1/authorize" ? "policy_id=api&key=u1" : "",
                 .headers = headers,
                 .body = path == "/v1/authorize" ? "" : body,
                 .peer = &peer})
        .status;
  }
};

constexpr std::string_view kPosts[] = {"/v1/ratelimit/check", "/v1/ratelimit/check-batch", "/json"};
const Headers kPages[] = {{{"host", "127.0.0.1:8080"}, {"origin", "https://evil.example"}},
                          {{"host", "127.0.0.1:8080"}, {"origin", "null"}},
                          {{"host", "localhost:8080"}, {"sec-fetch-site", "cross-site"}},
                          {{"host", "localhost:8080"}, {"sec-fetch-site", "same-site"}},
                          {{"host", "evil.example:8080"}, {"origin", "http://evil.example:8080"}}};

TEST_F(WebPageTest, PagesOfOtherSitesChargeNothing) {
  for (const Headers& headers : kPages) {
    for (const std::string_view path : kPosts) EXPECT_EQ(status("POST", path, headers), 403) << path;
    for (const std::string_view method : {"GET", "POST", "OPTIONS"})
      EXPECT_EQ(status(method, "/v1/authorize", headers), 403) << method;
  }
  EXPECT_EQ(left("u1"), 10);
}

TEST_F(WebPageTest, ProgramsMayCallThisHostWhatTheyLike) {
  for (const Headers& headers : {Headers{},
                                 {{"host", "sluice.internal:8080"}},
                                 {{"host", "127.0.0.1:8080"}, {"origin", "http://127.0.0.1:8080"}},
                                 {{"host", "localhost"}, {"sec-fetch-site", "same-origin"}}})
    for (const std::string_view path : kPosts) EXPECT_EQ(status("POST", path, headers), 200) << path;
}

TEST_F(WebPageTest, BeyondThisMachineAPageOfTheSameNameIsOfThisSite) {
  peer.is_trusted = false;
  EXPECT_EQ(status("POST", kPosts[0], {{"host", "sluice.shop:8080"}, {"origin", "https://sluice.shop:8080"}}),
            200);
  EXPECT_EQ(status("POST", kPosts[0], {{"host", "sluice.shop:8080"}, {"origin", "https://evil.example"}}),
            403);
}

TEST_F(WebPageTest, WhatAProxyPassesOnOfABrowserIsAnswered) {
  for (const std::string_view name : {"x-forwarded-for", "x-forwarded-uri", "x-sluice-key", "x-original-uri",
                                      "x-real-ip", "forwarded", "via"}) {
    for (Headers headers : kPages) {
      headers.emplace_back(net::Header{name, name == "x-sluice-key" ? "u1" : "/a"});
      EXPECT_EQ(status("GET", "/v1/authorize", headers), 200) << name;
      clock.advance(kSecondUs);
    }
  }
}

TEST_F(WebPageTest, WhereTokensAreNeededATokenIsEnough) {
  options.checks_need_token = true;
  peer.is_trusted = false;
  EXPECT_EQ(status("POST", kPosts[0], kPages[0]), 401);
}

}  // namespace
}  // namespace sluice::doors::testing

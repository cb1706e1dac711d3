#include "doors/http/openapi.h"

#include "doors/testing/doors_fixture.h"

namespace sluice::doors::testing {
namespace {

class OpenapiTest : public DoorsFixture {
 protected:
  net::HttpResponse ask_with(std::string_view known) {
    const net::Header header{"if-none-match", known};
    return send({.method = "GET", .path = "/openapi.yaml", .headers = {&header, 1}, .peer = &peer});
  }
};

TEST_F(OpenapiTest, IsServedAsItIs) {
  const auto response = get("/openapi.yaml");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/yaml");
  EXPECT_EQ(response.body, embedded_openapi());
  EXPECT_TRUE(response.body.starts_with("openapi: 3.1.0\n"));
  EXPECT_TRUE(header(response, "cache-control").starts_with("public, max-age="));
}

TEST_F(OpenapiTest, WhoHasItIsToldSo) {
  const std::string tag = header(get("/openapi.yaml"), "etag");
  ASSERT_GT(tag.size(), 2u);
  for (const std::string& known : {tag, "W/" + tag, "\"other\", " + tag, std::string("*")}) {
    const auto response = ask_with(known);
    EXPECT_EQ(response.status, 304) << known;
    EXPECT_EQ(response.body, "") << known;
    EXPECT_EQ(header(response, "etag"), tag) << known;
  }
  for (const std::string& other : {std::string("\"other\""), tag.substr(1), std::string("\"\"")})
    EXPECT_EQ(ask_with(other).status, 200) << other;
}

}  // namespace
}  // namespace sluice::doors::testing

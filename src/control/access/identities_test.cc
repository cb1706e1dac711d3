#include "control/access/identities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits/certificate_limits.h"
#include "control/access/authenticator.h"

namespace sluice::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Identity> parse(std::string_view text) {
  Problems problems;
  auto identities = parse_identities(text, "identities.yaml", problems);
  EXPECT_THAT(problems.texts(), testing::IsEmpty());
  return identities;
}

std::string problem(std::string_view text) {
  Problems problems;
  parse_identities(text, "i.yaml", problems);
  return problems.empty() ? "none" : problems.texts().front();
}

TEST(Identities, AListOfNamesWithRights) {
  const auto list = parse(R"(
- { name: "spiffe://prod/gateway-*", roles: [check, read], tenants: ["shop-*"] }
- { name: CN=Ops, roles: [admin] }
)");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].name, "spiffe://prod/gateway-*");
  EXPECT_THAT(list[0].rights.roles, ElementsAre(Role::kCheck, Role::kRead));
  EXPECT_THAT(list[0].rights.tenants, ElementsAre("shop-*"));
  EXPECT_THAT(list[1].rights.roles, ElementsAre(Role::kAdmin));
  EXPECT_TRUE(parse("[]").empty());
}

TEST(Identities, WhatIsWrongHasALineAndAField) {
  EXPECT_EQ(problem("- { name: a, roles: [check] }\n- { name: b, roles: [king] }"),
            "i.yaml:2: [1].roles[0]: \"king\" is not a role; use check, read, write, operator or admin");
  EXPECT_THAT(problem("- { roles: [check] }"), HasSubstr("i.yaml:1: [0].name: is missing"));
  EXPECT_THAT(problem("- { name: a }"), HasSubstr("[0].roles: is missing; an identity needs at least one"));
  EXPECT_THAT(problem("- { name: a, roles: [] }"), HasSubstr("is empty; an identity needs at least one"));
  EXPECT_THAT(problem("- { name: \"a*b\", roles: [check] }"), HasSubstr("has a * before its end"));
  EXPECT_THAT(problem("- { name: \"\", roles: [check] }"), HasSubstr("[0].name: "));
  EXPECT_THAT(problem("- { name: a, role: admin, roles: [check] }"), HasSubstr("role"));
  EXPECT_THAT(problem("- { name: a, roles: [check] }\n- { name: a, roles: [admin] }"),
              HasSubstr("[1].name: [0] is also for \"a\""));
  EXPECT_THAT(problem("identities: []"), HasSubstr("i.yaml:1: "));
  EXPECT_THAT(problem("- a"), HasSubstr("[0]: "));
  EXPECT_THAT(problem(""), testing::Not("none"));
  EXPECT_THAT(problem("- { name: " + std::string(kCertificateNameBytesMax + 1, 'a') + ", roles: [check] }"),
              HasSubstr("[0].name: "));
  std::string many;
  for (std::size_t i = 0; i <= kIdentitiesMax; ++i)
    many += "- { name: n" + std::to_string(i) + ", roles: [check] }\n";
  EXPECT_THAT(problem(many), HasSubstr("there are more than 1000 identities"));
}

class AccessByCertificateTest : public testing::Test {
 protected:
  AccessByCertificateTest() {
    identities_.replace(parse(R"(
- { name: "spiffe://prod/gateway-*", roles: [check], tenants: ["shop-*"] }
- { name: gateway.prod, roles: [read] }
- { name: "spiffe://prod/*", roles: [write] }
)"));
  }
  std::string who(std::vector<std::string> names, bool is_trusted = false, std::string_view header = "") {
    const net::Peer peer{.address = "10.0.0.7", .is_trusted = is_trusted, .names = std::move(names)};
    const auto principal = reader_.who(peer, header);
    if (!principal) return principal.error().message;
    std::string text = principal->name;
    for (const Role role : principal->roles) text += " " + std::string(to_string(role));
    for (const std::string& tenant : principal->tenants) text += " " + tenant;
    return text;
  }

  ManualClock clock_{0};
  TokenRegistry tokens_;
  IdentityRegistry identities_;
  KnownCallers known_{tokens_, clock_, &identities_};
  Authenticator reader_{known_};
};

TEST_F(AccessByCertificateTest, TheFirstThatFitsCounts) {
  EXPECT_EQ(who({"spiffe://prod/gateway-7", "gateway.prod"}),
            "certificate spiffe://prod/gateway-7 check shop-*");
  EXPECT_EQ(who({"spiffe://prod/admin", "gateway.prod"}), "certificate gateway.prod read")
      << "the order of the list, not that of the names";
  EXPECT_EQ(who({"spiffe://prod/admin"}), "certificate spiffe://prod/admin write");
}

TEST_F(AccessByCertificateTest, WhoIsNotMappedHasNoRights) {
  EXPECT_EQ(who({"spiffe://test/x", "CN=x"}),
            "no identity matches this client's certificate (spiffe://test/x, CN=x); add one to the "
            "--identities file, or send a token as `Authorization: Bearer sluice_…`");
  EXPECT_THAT(who({"a", "b", "c", "d", "e"}), HasSubstr("(a, b, c, d, …)"));
  EXPECT_THAT(who({"gateway.prod.evil"}), HasSubstr("no identity matches"));
  EXPECT_THAT(who({"spiffe://prod"}), HasSubstr("no identity matches"));
}

TEST_F(AccessByCertificateTest, ATokenWinsOverACertificate) {
  EXPECT_THAT(who({"gateway.prod"}, false, "Bearer x"), HasSubstr("not a Sluice token"));
  EXPECT_THAT(who({"gateway.prod"}, true, "Bearer x"), HasSubstr("not a Sluice token"));
}

TEST_F(AccessByCertificateTest, OnATrustedPortAMappedOneCountsAndOthersAreLoopback) {
  EXPECT_EQ(who({"gateway.prod"}, true), "certificate gateway.prod read");
  EXPECT_EQ(who({"CN=x"}, true), "loopback admin");
  EXPECT_EQ(who({}, true), "loopback admin");
  EXPECT_THAT(who({}), HasSubstr("this needs a token"));
}

TEST_F(AccessByCertificateTest, NewIdentitiesCountAtOnce) {
  identities_.replace({});
  EXPECT_THAT(who({"gateway.prod"}), HasSubstr("no identity matches"));
}

}  // namespace
}  // namespace sluice::control

#include "server/setup/key_secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(KeySecrets, AreReadWithAllTheirFields) {
  Problems problems;
  const auto secrets = parse_key_secrets(R"(
secrets:
  - { version: 1, secret: 0123456789abcdefx }
  - { version: 7, secret: "another one, quoted", from: 1970-01-01T00:00:01Z }
)",
                                         "secrets.yaml", problems);
  EXPECT_THAT(problems.texts(), ElementsAre());
  ASSERT_EQ(secrets.size(), 2u);
  EXPECT_EQ(secrets[0].version, 1);
  EXPECT_EQ(secrets[0].secret, "0123456789abcdefx");
  EXPECT_EQ(secrets[0].from_us, 0);
  EXPECT_EQ(secrets[1].version, 7);
  EXPECT_EQ(secrets[1].from_us, 1'000'000);
}

TEST(KeySecrets, WhatIsWrongIsNamedWithoutTheSecret) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "secrets.yaml: the file is empty"},
      {"7", "must be a map"},
      {"secrets: 7", "secrets: must be a list"},
      {"secrets: [x]", "secrets[0]: must be a map"},
      {"secrets: [{version: 1}]", "secrets[0].secret: is missing"},
      {"secrets: [{secret: hunter2hunter2hunter2}]", "secrets[0].version: is missing"},
      {"secrets: [{version: 0, secret: hunter2hunter2hunter2}]", "secrets[0].version: \"0\" is out of range"},
      {"secrets: [{version: 1, secret: hunter2}]", "secrets[0].secret: has 7 characters"},
      {"secrets: [{version: 1, secret: hunter2hunter2hunter2, from: soon}]", "secrets[0].from: \"…\""},
      {"secrets: [{version: 1, secret: hunter2hunter2hunter2, until: x}]", "secrets[0]"},
      {"secrets: [{version: hunter2hunter2hunter2, secret: x}]", "secrets[0].version: \"…\" is not"},
      {"secrets: [{version: 1, secret: hunter2hunter2hunter2, hunter2hunter2: x}]", "secrets[0]"},
      {"secrets: [{version: 1, secret: hunter2hunter2hunter2, from: hunter2hunter2}]", "secrets[0].from"},
  };
  for (const auto& [text, message] : rows) {
    Problems problems;
    parse_key_secrets(text, "secrets.yaml", problems);
    ASSERT_FALSE(problems.empty()) << text;
    EXPECT_THAT(problems.texts().front(), HasSubstr(message)) << text;
    EXPECT_THAT(problems.texts().front(), Not(HasSubstr("hunter2"))) << text;
    EXPECT_THAT(problems.texts().front(), Not(HasSubstr("policies"))) << text;
  }
}

}  // namespace
}  // namespace sluice::server

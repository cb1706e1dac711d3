#include "policy/document/user_document.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

User parsed(std::string_view text) {
  Problems problems;
  auto user = parse_user(text, "ann", problems);
  for (const std::string& problem : problems.texts()) ADD_FAILURE() << problem;
  return user.value_or(User{});
}

TEST(UserDocument, WhatIsWrittenReadsTheSame) {
  for (
      const std::string_view text : {
          R"({})",
          R"({"tier":"premium"})",
          R"({"overrides":[{"policy_id":"api.read","limit":"burst","rate":"500/s"}]})",
          R"({"tier":"vip","overrides":[{"policy_id":"p","limit":"a","rate":"5/90s","burst":9,"algorithm":"token_bucket","expires_at":"2026-12-01T00:00:00Z"},{"policy_id":"p","limit":"b","rate":"0/s"}]})",
      }) {
    const User user = parsed(text);
    EXPECT_EQ(user.id, "ann");
    std::string written;
    write_user(user, written);
    EXPECT_EQ(written, text);
    EXPECT_EQ(parsed(written), user);
  }
}

TEST(UserDocument, ProblemsNameTheField) {
  struct Row {
    std::string_view text, field;
  };
  for (const Row& row :
       {Row{R"({"tier":5})", "tier"},
        {R"({"tear":"x"})", "tear"},
        {R"({"overrides":[{"policy_id":"p","limit":"l"}]})", "overrides[0].rate"},
        {R"({"overrides":[{"policy_id":"p","limit":"l","rate":"5/s","algorithm":"magic"}]})",
         "overrides[0].algorithm"},
        {R"({"overrides":[{"policy_id":"p","limit":"l","rate":"-5/s"}]})", "overrides[0].rate"},
        {R"({"overrides":[{"policy_id":"p","limit":"l","rate":"5/s","expires_at":"soon"}]})",
         "overrides[0].expires_at"},
        {R"([1])", ""},
        {"{", ""}}) {
    Problems problems;
    EXPECT_FALSE(parse_user(row.text, "ann", problems)) << row.text;
    ASSERT_FALSE(problems.empty()) << row.text;
    EXPECT_EQ(problems.list().front().field, row.field) << row.text;
  }
}

}  // namespace
}  // namespace sluice

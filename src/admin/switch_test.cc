#include "admin/switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "base/limits/switch_limits.h"
#include "base/time_units.h"

namespace sluice::admin {
namespace {

using control::Principal;
using control::Role;
using ::testing::HasSubstr;

class SwitchCallTest : public ::testing::Test {
 protected:
  net::HttpResponse send(std::string_view method, std::string_view body = "",
                         const Principal& principal = Principal::loopback(), std::string_view why = "") {
    const net::Header header{"x-reason", why};
    const auto call = AdminCall::from(
        {.method = method, .path = "/v1/switch", .headers = {&header, 1}, .body = body}, principal);
    if (!call) return to_response(std::unexpected(call.error()));
    EXPECT_TRUE(is_switch_call(*call));
    return answer_switch_call(controller, *call);
  }

  ManualClock clock{1'800'000'000 * kSecondUs};
  BigSwitch big_switch;
  std::vector<ledger::Change> posted;
  control::SwitchController controller{
      big_switch,
      clock,
      clock,
      [this](ledger::Change change, const control::Outbox::Revise&) { posted.push_back(std::move(change)); },
      {}};
};

TEST_F(SwitchCallTest, OpensForAnHourUnlessToldOtherwise) {
  EXPECT_EQ(send("GET").body,
            R"({"mode":"normal","reason":"","ttl_seconds":0,"until":null,"actor":null,"at":null})");
  const auto answer = send("PUT", R"({"mode":"open","reason":"store \"x\" is slow"})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(
      answer.body,
      R"({"mode":"open","reason":"store \"x\" is slow","ttl_seconds":3600,"until":"2027-01-15T09:00:00Z",)"
      R"("actor":"loopback","at":"2027-01-15T08:00:00Z"})");
  EXPECT_TRUE(big_switch.is_open());
  clock.advance(600 * kSecondUs - 1);
  EXPECT_THAT(send("GET").body, HasSubstr(R"("ttl_seconds":3001,)")) << "what is left of it, rounded up";
  EXPECT_THAT(send("PUT", R"({"mode":"open","ttl_seconds":604800})").body,
              HasSubstr(R"("ttl_seconds":604800,)"));
  EXPECT_THAT(send("PUT", R"({"mode":"normal","reason":""})").body, HasSubstr(R"({"mode":"normal")"));
  EXPECT_FALSE(big_switch.is_open());
  ASSERT_EQ(posted.size(), 3u);
  EXPECT_EQ(posted[0].actor, "loopback");
  EXPECT_EQ(posted[0].reason, "store \"x\" is slow");
  EXPECT_EQ(posted[2].drafts.front().action, "normal");
}

TEST_F(SwitchCallTest, TheHeaderIsTheReasonOfABodyWithout) {
  send("PUT", R"({"mode":"open"})", Principal::loopback(), "from the header");
  EXPECT_EQ(posted.back().reason, "from the header");
  send("PUT", R"({"mode":"open","reason":"from the body"})", Principal::loopback(), "from the header");
  EXPECT_EQ(posted.back().reason, "from the body");
  EXPECT_EQ(send("PUT", R"({"mode":"open"})", Principal::loopback(), "\xff").status, 400);
}

TEST_F(SwitchCallTest, AnEmptyBodyIsToldWhatToSend) {
  EXPECT_THAT(send("PUT", "").body, HasSubstr("send a JSON object with mode, reason, ttl_seconds"));
}

TEST_F(SwitchCallTest, BadInputTurnsNothing) {
  const std::string long_reason(kReasonBytesMax + 1, 'r');
  struct Row {
    std::string body;
    std::string field;
  };
  for (const Row& row : {Row{"", ""},
                         {"[]", ""},
                         {"open", ""},
                         {"{}", "mode"},
                         {R"({"mode":"ajar"})", "mode"},
                         {R"({"mode":"OPEN"})", "mode"},
                         {R"({"mode":""})", "mode"},
                         {R"({"mode":null})", "mode"},
                         {R"({"mode":true})", "mode"},
                         {R"({"mode":["open"]})", "mode"},
                         {R"({"mode":"open","mode":"normal"})", ""},
                         {R"({"mode":"open","ttl_seconds":0})", "ttl_seconds"},
                         {R"({"mode":"open","ttl_seconds":-1})", "ttl_seconds"},
                         {R"({"mode":"open","ttl_seconds":604801})", "ttl_seconds"},
                         {R"({"mode":"open","ttl_seconds":9223372036854775808})", "ttl_seconds"},
                         {R"({"mode":"open","ttl_seconds":1.5})", "ttl_seconds"},
                         {R"({"mode":"open","ttl_seconds":"60"})", "ttl_seconds"},
                         {R"({"mode":"open","ttl_seconds":null})", "ttl_seconds"},
                         {R"({"mode":"open","reason":7})", "reason"},
                         {R"({"mode":"open","reason":")" + long_reason + "\"}", "reason"},
                         {R"({"mode":"open","reason":"a\u0007"})", ""},
                         {R"({"mode":"open","for":"ever"})", ""}}) {
    const auto answer = send("PUT", row.body);
    EXPECT_EQ(answer.status, 400) << row.body;
    EXPECT_EQ(answer.content_type, "application/problem+json") << row.body;
    if (!row.field.empty()) {
      EXPECT_THAT(answer.body, HasSubstr("\"field\":\"" + row.field + '"')) << row.body;
    }
  }
  EXPECT_FALSE(big_switch.is_open());
  EXPECT_TRUE(posted.empty());
}

TEST_F(SwitchCallTest, NeedsAnOperatorOfAllTenants) {
  const std::string open = R"({"mode":"open"})";
  EXPECT_EQ(send("PUT", open, {"w", {Role::kWrite}, {}}).status, 403);
  EXPECT_EQ(send("PUT", open, {"o", {Role::kOperator}, {"shop-*"}}).status, 403);
  EXPECT_EQ(send("GET", "", {"c", {Role::kCheck}, {}}).status, 403);
  EXPECT_FALSE(big_switch.is_open());
  EXPECT_EQ(send("GET", "", {"r", {Role::kRead}, {}}).status, 200);
  EXPECT_EQ(send("PUT", open, {"o", {Role::kOperator}, {}}).status, 200);
  EXPECT_TRUE(big_switch.is_open());
}

TEST_F(SwitchCallTest, OtherMethodsAreToldWhatThereIs) {
  for (const char* method : {"POST", "DELETE", "PATCH"}) {
    const auto answer = send(method, R"({"mode":"open"})");
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ((*answer.headers.begin()).value, "GET, PUT");
  }
  EXPECT_FALSE(big_switch.is_open());
}

}  // namespace
}  // namespace sluice::admin

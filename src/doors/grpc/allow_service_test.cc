#include "doors/testing/doors_fixture.h"
#include "doors/testing/wire_fields.h"

namespace sluice::doors::testing {
namespace {

using net::GrpcCode;

class AllowServiceTest : public DoorsFixture {
 protected:
  void SetUp() override {
    Policy small = make_policy("small", {make_limit({.rate = {2, 3600 * kSecondUs}})});
    small.resource = "/small";
    publish({make_policy("default", {make_limit({})}), small});
  }
  GrpcAnswer send(std::string_view method, const Message& message) {
    return call_service("sluice.compat.v1.Allow", method, message.bytes);
  }
  std::string ask(std::string_view method, const Message& message) {
    const GrpcAnswer answer = send(method, message);
    EXPECT_EQ(answer.status.code, GrpcCode::kOk) << answer.status.message;
    return fields_of(answer.message);
  }
  std::int64_t left_of(std::string_view policy) {
    return engine.usage({.policy_id = policy, .key = "u1"})->remaining();
  }
};

Message about_key(std::string_view key = "u1") { return Message().text(1, key); }

TEST_F(AllowServiceTest, WithoutAPolicyItIsTheDefaultOne) {
  EXPECT_EQ(ask("Allow", about_key()), "1: 1\n2: 10\n3: 9\n5: 1800000000100\n");
  EXPECT_EQ(ask("AllowN", about_key().number(2, 3)), "1: 1\n2: 10\n3: 6\n5: 1800000000400\n");
  EXPECT_EQ(ask("Allow", about_key().text(2, "small")), "1: 1\n2: 2\n3: 1\n5: 1800001800000\n");
  EXPECT_EQ(ask("AllowN", about_key().number(2, 1).text(3, "small")), "1: 1\n2: 2\n5: 1800003600000\n");
  EXPECT_EQ(left_of("default"), 6);
}

TEST_F(AllowServiceTest, AllNOrNone) {
  ask("AllowN", about_key().number(2, 8));
  EXPECT_EQ(ask("AllowN", about_key().number(2, 3)), "2: 10\n3: 2\n4: 100\n5: 1800000000800\n");
  EXPECT_EQ(left_of("default"), 2);
}

TEST_F(AllowServiceTest, MoreThanTheLimitIsNeverAllowed) {
  EXPECT_EQ(ask("AllowN", about_key().number(2, 11)), "2: 10\n3: 10\n4: -1\n5: 1800000000000\n");
}

TEST_F(AllowServiceTest, NoneIsALook) {
  ask("AllowN", about_key().number(2, 8));
  for (const Message& message : {about_key(), about_key().number(2, 0)})
    EXPECT_EQ(ask("AllowN", message), "1: 1\n2: 10\n3: 2\n5: 1800000000800\n");
}

TEST_F(AllowServiceTest, TheKeyStandsForTheUser) {
  publish({make_policy("default", {make_limit({.per = {"user"}})})});
  EXPECT_EQ(ask("Allow", about_key()), "1: 1\n2: 10\n3: 9\n5: 1800000000100\n");
}

TEST_F(AllowServiceTest, WithoutALimitThereAreNoNumbers) {
  publish({make_policy("default", {make_limit({.per = {"ip"}})})});
  EXPECT_EQ(ask("Allow", about_key()), "1: 1\n2: -1\n3: -1\n");
}

TEST_F(AllowServiceTest, BadInputNamesTheFieldAndChargesNothing) {
  struct Row {
    std::string_view method;
    Message message;
    GrpcCode code;
    std::string_view starts;
  };
  const std::string long_key(257, 'k'), long_name(129, 'p');
  for (const Row& row :
       {Row{"Allow", {}, GrpcCode::kInvalidArgument, "key: key must not be empty"},
        {"Allow", about_key(""), GrpcCode::kInvalidArgument, "key: "},
        {"Allow", about_key(long_key), GrpcCode::kInvalidArgument, "key: key is 257 bytes long"},
        {"Allow", about_key().text(2, "nobody"), GrpcCode::kNotFound, "policy: there is no policy"},
        {"Allow", about_key().text(2, long_name), GrpcCode::kInvalidArgument, "policy: policy is 129 bytes"},
        {"AllowN", Message().number(2, 1), GrpcCode::kInvalidArgument, "key: "},
        {"AllowN", about_key().number(2, -1), GrpcCode::kInvalidArgument, "n: a cost of -1"},
        {"AllowN", about_key().number(2, 1'000'000'001), GrpcCode::kInvalidArgument, "n: "},
        {"AllowN", about_key().number(2, (1LL << 32) + 1), GrpcCode::kInvalidArgument, "n: "},
        {"AllowN", about_key().number(2, INT64_MIN), GrpcCode::kInvalidArgument, "n: "},
        {"AllowN", about_key().number(2, 1).text(3, "nobody"), GrpcCode::kNotFound, "policy: "},
        {"Reset", {}, GrpcCode::kInvalidArgument, "key: "},
        {"Reset", about_key(long_key), GrpcCode::kInvalidArgument, "key: "},
        {"Reset", about_key().text(2, "nobody"), GrpcCode::kNotFound, "policy: "}}) {
    const GrpcAnswer answer = send(row.method, row.message);
    EXPECT_EQ(answer.status.code, row.code) << row.method << ' ' << row.starts;
    EXPECT_TRUE(answer.status.message.starts_with(row.starts)) << answer.status.message;
    EXPECT_EQ(answer.message, "");
  }
  EXPECT_EQ(left_of("default"), 10);
}

TEST_F(AllowServiceTest, WithoutADefaultPolicyThereIsNone) {
  publish({make_policy("small", {make_limit({})})});
  const GrpcAnswer answer = send("Allow", about_key());
  EXPECT_EQ(answer.status.code, GrpcCode::kNotFound);
  EXPECT_EQ(answer.status.message, "policy: there is no policy \"default\"");
}

TEST_F(AllowServiceTest, ResetForgetsOnlyThisPolicy) {
  std::vector<std::string> trace;
  options.on_reset = [&](const ResetReport& report) { trace.push_back(report.sentence()); };
  ask("AllowN", about_key().number(2, 8));
  ask("Allow", about_key().text(2, "small"));
  EXPECT_EQ(ask("Reset", about_key().text(2, "small")), "");
  EXPECT_EQ(left_of("small"), 2);
  EXPECT_EQ(left_of("default"), 2);
  EXPECT_EQ(ask("Reset", about_key()), "");
  EXPECT_EQ(left_of("default"), 10);
  EXPECT_EQ(trace, (std::vector<std::string>{
                       R"(loopback at 127.0.0.1 reset 1 counter of policy "small" without a reason)",
                       R"(loopback at 127.0.0.1 reset 1 counter of policy "default" without a reason)"}));
}

}  // namespace
}  // namespace sluice::doors::testing

// ConfigurePolicy and ListPolicies on an in-memory ledger, without a network.
#include "admin/policies/policy_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "admin/policies/policy_list.h"
#include "admin/testing/admin_node.h"
#include "base/limits/control_limits.h"
#include "base/limits/stream_limits.h"
#include "net/grpc/protobuf_wire.h"
#include "net/testing/reply.h"

namespace sluice::admin {
namespace {

using control::Role;
using net::GrpcCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The message Policy.
struct Message {
  std::string id = {};
  std::string document = R"({"id":"a","limits":[{"rate":"5/s"}]})";
  std::int64_t version = 0;
  std::string owner = {};
  std::string reason = {};

  std::string encoded() const {
    std::string out;
    net::WireWriter writer(out);
    writer.string(1, id);
    writer.string(2, document);
    writer.int64(3, version);
    writer.string(4, owner);
    writer.string(5, reason);
    return out;
  }
  static Message decoded(std::string_view bytes) {
    Message message;
    net::WireReader reader(bytes);
    while (reader.next()) {
      if (reader.field() == 1) message.id = reader.string();
      if (reader.field() == 2) message.document = reader.string();
      if (reader.field() == 3) message.version = reader.int64();
      if (reader.field() == 4) message.owner = reader.string();
      if (reader.field() == 5) message.reason = reader.string();
    }
    EXPECT_TRUE(reader.ok());
    return message;
  }
};

// A client with room for this many messages at a time.
class Reader final : public net::GrpcStream {
 public:
  void send(std::string_view message) override {
    EXPECT_TRUE(has_room()) << "whoever sends must look whether there is room";
    received.push_back(Message::decoded(message));
  }
  bool has_room() const override { return received.size() < room; }
  void finish(const net::GrpcStatus& the_status) override {
    EXPECT_FALSE(status) << "a call ends once";
    status = the_status;
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    for (const Message& message : received) ids.push_back(message.id);
    return ids;
  }

  std::size_t room = SIZE_MAX;
  std::vector<Message> received;
  std::optional<net::GrpcStatus> status;
};

class PolicyServiceTest : public AdminPlaneTest {
 protected:
  void run_until(const std::function<bool()>& done) {
    AdminPlaneTest::run_until(done, [this] { client.tick(); });
  }

  net::GrpcResponse call(net::GrpcStatus (PolicyService::*method)(const doors::GrpcCall&),
                         const std::string& message, const net::HeaderList& metadata = {}) {
    net::TestReply<net::GrpcResponse> reply;
    const net::GrpcContext context{.path = "", .metadata = &metadata, .peer = &peer};
    reply.response.status = (service.*method)({context, message, reply});
    run_until([&] { return reply.is_answered(); });
    return reply.answer();
  }

  struct Answer {
    net::GrpcStatus status;
    std::string policy_version;
  };
  Answer configure(const std::string& message, const net::HeaderList& metadata = {}) {
    const net::GrpcResponse reply = call(&PolicyService::configure, message, metadata);
    net::WireReader reader(reply.message);
    std::string version;
    while (reader.next()) version = reader.string();
    return {reply.status, version};
  }
  Answer configure(const Message& message, const net::HeaderList& metadata = {}) {
    return configure(message.encoded(), metadata);
  }

  std::unique_ptr<net::GrpcStreamHandler> open_list(Reader& reader) {
    const net::HeaderList none;
    return service.list({.path = "", .metadata = &none, .peer = &peer}, reader);
  }
  // Reads the whole list.
  void list(Reader& reader, std::string_view tenant = "") {
    std::string message;
    net::WireWriter(message).string(1, tenant);
    const auto handler = open_list(reader);
    if (!handler) return;
    handler->on_message(message);
    handler->on_half_close();
    run_until([&] { return reader.status.has_value(); });
  }
  // Publishes this many policies, p000, p001, …, of three tenants.
  void publish(int count) {
    PolicyChange change;
    for (int i = 0; i < count; ++i) {
      Policy& policy = change.put.emplace_back();
      policy.id = "p" + std::to_string(1000 + i).substr(1);
      policy.tenant = "shop-" + std::to_string(i % 3);
      policy.resource = "/" + policy.id;
      policy.version = i + 1;
      policy.limits.push_back(
          {.name = "one", .params = make_limit_params(Algorithm::kGcra, {1, 1'000'000}, {}).value()});
    }
    ASSERT_TRUE(node.catalog.change(std::move(change)));
  }

  SelfLimiter engine{limits, {}, 1};
  control::Authenticator authenticator{known_callers};
  ControlPlaneClient client{parts};
  PolicyService service{authenticator, engine, client};
};

TEST_F(PolicyServiceTest, AChangeIsInForceAndRemembered) {
  EXPECT_EQ(configure(Message{.owner = "search", .reason = "first"}).policy_version, "a#1");
  const auto answer = configure(Message{.document = "id: a\nowner: them\nlimits: [{rate: 7/s}]\n"});
  EXPECT_EQ(answer.status.code, GrpcCode::kOk) << answer.status.message;
  EXPECT_EQ(answer.policy_version, "a#2");
  EXPECT_EQ(node.catalog.current()->find("a")->source.limits[0].params.rate.count, 7);
  EXPECT_EQ(node.catalog.current()->find("a")->source.owner, "them")
      << "the document's, if the call names none";
  const auto history = node.ledger.history(ledger::Kind::kPolicy, "a", INT64_MAX, 10);
  ASSERT_TRUE(history);
  EXPECT_EQ(history->back().reason, "first");
  EXPECT_EQ(history->back().actor, "loopback");
  EXPECT_THAT(history->back().body, HasSubstr(R"("owner":"search")"));
}

TEST_F(PolicyServiceTest, IdsOfCallAndDocumentAgreeOrOneIsEnough) {
  const std::string nameless = R"({"limits":[{"rate":"5/s"}]})";
  EXPECT_EQ(configure(Message{.id = "b", .document = nameless}).policy_version, "b#1");
  EXPECT_EQ(configure(Message{.id = "b", .document = "policies: [{limits: [{rate: 6/s}]}]"}).policy_version,
            "b#2");
  EXPECT_EQ(configure(Message{.id = "a"}).status.code, GrpcCode::kFailedPrecondition)
      << "both are for everything";
  const auto differ = configure(Message{.id = "c"});
  EXPECT_EQ(differ.status.code, GrpcCode::kInvalidArgument);
  EXPECT_EQ(differ.status.message, R"(id: the document's id is "a", but the call says "c")");
  const auto neither = configure(Message{.document = nameless});
  EXPECT_EQ(neither.status.code, GrpcCode::kInvalidArgument);
  EXPECT_THAT(neither.status.message, HasSubstr("id: "));
}

TEST_F(PolicyServiceTest, AnOldVersionIsAborted) {
  configure(Message{});
  EXPECT_EQ(configure(Message{.version = 1}).policy_version, "a#2");
  for (const std::int64_t version : {1, 3}) {
    const auto stale = configure(Message{.version = version});
    EXPECT_EQ(stale.status.code, GrpcCode::kAborted) << version;
    EXPECT_THAT(stale.status.message, HasSubstr("version: "));
  }
}

TEST_F(PolicyServiceTest, BadInputNamesTheField) {
  struct Row {
    std::string message;
    std::string_view starts;
  };
  for (const Row& row :
       {Row{Message{.document = ""}.encoded(), "document: "},
        {Message{.document = "{"}.encoded(), "document: "},
        {Message{.document = R"({"id":"a","limits":[{"rate":"-1/s"}]})"}.encoded(), "limits[0].rate: "},
        {Message{.document = "policies: [{id: a, limits: [{rate: x}]}]"}.encoded(),
         "policies[0].limits[0].rate: "},
        {Message{.document = R"({"id":"a","limit":[]})"}.encoded(), "limit: "},
        {Message{.version = -1}.encoded(), "version: "},
        {Message{.owner = std::string(129, 'o')}.encoded(), "owner: "},
        {Message{.owner = "a\nb"}.encoded(), "owner: "},
        {Message{.reason = std::string(1025, 'r')}.encoded(), "reason: "},
        {Message{.id = "a b", .document = R"({"limits":[{"rate":"5/s"}]})"}.encoded(), "id: "}}) {
    const auto answer = configure(row.message);
    EXPECT_EQ(answer.status.code, GrpcCode::kInvalidArgument) << row.starts;
    EXPECT_TRUE(answer.status.message.starts_with(row.starts)) << answer.status.message;
  }
  EXPECT_TRUE(node.catalog.current()->policies().empty());
}

TEST_F(PolicyServiceTest, WhatIsNoMessageIsInternal) {
  for (const std::string_view bytes : {std::string_view("\xff"), std::string_view("\x12\x01\xff", 3)}) {
    const auto answer = configure(std::string(bytes));
    EXPECT_EQ(answer.status.code, GrpcCode::kInternal);
    EXPECT_EQ(answer.status.message, "the message is not the protobuf that this method expects");
  }
}

TEST_F(PolicyServiceTest, DenyingEveryoneIsConfirmed) {
  const Message nobody{.document = R"({"id":"a","limits":[{"rate":"0/s"}]})"};
  const auto refused = configure(nobody);
  EXPECT_EQ(refused.status.code, GrpcCode::kInvalidArgument);
  EXPECT_THAT(refused.status.message, HasSubstr("confirm"));
  net::HeaderList confirmed;
  confirmed.emplace_back("confirm", "deny-everyone");
  EXPECT_EQ(configure(nobody, confirmed).policy_version, "a#1");
}

TEST_F(PolicyServiceTest, AKeyedChangeIsMadeOnce) {
  net::HeaderList keyed;
  keyed.emplace_back("idempotency-key", "k1");
  EXPECT_EQ(configure(Message{}, keyed).policy_version, "a#1");
  EXPECT_EQ(configure(Message{}, keyed).policy_version, "a#1");
  EXPECT_EQ(configure(Message{.owner = "other"}, keyed).status.code, GrpcCode::kFailedPrecondition);
}

TEST_F(PolicyServiceTest, APolicyOfAFileStays) {
  Policy policy;
  policy.id = "a";
  policy.limits.push_back(
      {.name = "one", .params = make_limit_params(Algorithm::kGcra, {1, 1'000'000}, {}).value()});
  ASSERT_TRUE(node.catalog.replace_files({policy}));
  const auto answer = configure(Message{});
  EXPECT_EQ(answer.status.code, GrpcCode::kFailedPrecondition);
  EXPECT_THAT(answer.status.message, HasSubstr("comes from a file"));
}

TEST_F(PolicyServiceTest, TheCurrentConfigIsThatOfTheMultiRateApi) {
  EXPECT_EQ(configure(Message{.document = "{id: 'shop:user', tenant: shop, resource: user, limits: [{per: "
                                          "[key], rate: 5/s, algorithm: leaky_bucket}]}"})
                .policy_version,
            "shop:user#1");
  const net::GrpcResponse reply = call(&PolicyService::current_config, "");
  EXPECT_EQ(reply.status.code, GrpcCode::kOk) << reply.status.message;
  EXPECT_THAT(reply.message, HasSubstr("shop"));
  EXPECT_EQ(call(&PolicyService::current_config, "\xff").status.code, GrpcCode::kInternal);
}

TEST_F(PolicyServiceTest, StrangersAreRefused) {
  peer.is_trusted = false;
  EXPECT_EQ(configure(Message{}).status.code, GrpcCode::kUnauthenticated);
  EXPECT_EQ(call(&PolicyService::current_config, "").status.code, GrpcCode::kUnauthenticated);
  Reader reader;
  EXPECT_EQ(open_list(reader), nullptr);
  ASSERT_TRUE(reader.status);
  EXPECT_EQ(reader.status->code, GrpcCode::kUnauthenticated);
}

TEST_F(PolicyServiceTest, ALongListWaitsForItsReader) {
  publish(500);
  Reader reader;
  reader.room = 7;
  const auto handler = open_list(reader);
  handler->on_message("");
  handler->on_half_close();
  run_until([&] { return reader.received.size() == 7; });
  ASSERT_TRUE(node.catalog.change({.put = {}, .remove = {"p499"}})) << "it is the list of one moment";
  while (!reader.status) {
    reader.room = reader.received.size() + 7;
    handler->on_room();
    ASSERT_LE(reader.received.size(), reader.room);
  }
  EXPECT_EQ(reader.status->code, GrpcCode::kOk);
  ASSERT_EQ(reader.received.size(), 500u);
  EXPECT_TRUE(std::ranges::is_sorted(reader.ids()));
  EXPECT_EQ(reader.received[499].id, "p499");
  EXPECT_EQ(reader.received[499].version, 500);
  EXPECT_EQ(reader.received[499].document,
            R"({"id":"p499","tenant":"shop-1","resource":"/p499","limits":[{"name":"one","rate":"1/s"}]})");
}

TEST_F(PolicyServiceTest, OnlyThoseOfTheTenantAndOnlyThoseTheCallerMaySee) {
  publish(9);
  Reader of_tenant;
  list(of_tenant, "shop-1");
  EXPECT_THAT(of_tenant.ids(), ElementsAre("p001", "p004", "p007"));
  Reader of_nobody;
  list(of_nobody, "nobody");
  EXPECT_TRUE(of_nobody.received.empty());
  EXPECT_EQ(of_nobody.status->code, GrpcCode::kOk);
  const control::Principal limited{"token t", {Role::kRead}, {"shop-2", "shop-0"}};
  EXPECT_EQ(PolicyList::of(node.catalog.current(), limited, "").policies.size(), 6u);
  EXPECT_TRUE(PolicyList::of(node.catalog.current(), limited, "shop-1").policies.empty());
}

TEST_F(PolicyServiceTest, AListForSomebodyWhoHasGoneIsDropped) {
  publish(3);
  Reader gone, there;
  {
    const auto handler = open_list(gone);
    handler->on_message("");
  }
  list(there);
  EXPECT_EQ(there.received.size(), 3u);
  EXPECT_TRUE(gone.received.empty());
}

TEST_F(PolicyServiceTest, AListWithoutAQuestionOrWithABadOneIsRefused) {
  Reader silent, odd;
  open_list(silent)->on_half_close();
  EXPECT_EQ(silent.status->code, GrpcCode::kInternal);
  const auto handler = open_list(odd);
  handler->on_message("\xff");
  handler->on_half_close();
  EXPECT_EQ(odd.status->code, GrpcCode::kInternal);
}

TEST_F(PolicyServiceTest, OneAdminLeavesListsToOthers) {
  PolicyListings listings;
  std::vector<Reader> readers(kPolicyListsMax);
  std::vector<std::unique_ptr<PolicyListing>> open;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const std::string admin = "token " + std::to_string(i / kPolicyListsPerAdmin);
    ASSERT_EQ(listings.refusal(admin), "") << i;
    open.push_back(std::make_unique<PolicyListing>(client, readers[i],
                                                   control::Principal{admin, {Role::kRead}, {}}, listings));
  }
  EXPECT_NE(listings.refusal("token new"), "") << "all places are taken";
}

TEST_F(PolicyServiceTest, WhoReadsTooSlowlyIsCutAndMakesRoom) {
  publish(500);
  Reader stuck, silent;
  stuck.room = 7;
  const auto reading = open_list(stuck), asking = open_list(silent);
  reading->on_message("");
  run_until([&] { return stuck.received.size() == 7; });
  service.tick(1'000'000);
  service.tick(2'000'000 + kPolicyListPatienceUs);
  ASSERT_TRUE(stuck.status && silent.status);
  EXPECT_EQ(silent.status->code, GrpcCode::kResourceExhausted) << "who asks nothing keeps no place either";
  std::vector<Reader> readers(kPolicyListsPerAdmin + 1);
  std::vector<std::unique_ptr<net::GrpcStreamHandler>> open;
  for (Reader& reader : readers) open.push_back(open_list(reader));
  EXPECT_NE(open[kPolicyListsPerAdmin - 1], nullptr) << "all places are free again";
  EXPECT_EQ(open.back(), nullptr);
  EXPECT_EQ(readers.back().status->code, GrpcCode::kResourceExhausted) << "but there are no more";
}

}  // namespace
}  // namespace sluice::admin

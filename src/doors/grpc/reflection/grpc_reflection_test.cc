#include <gtest/gtest.h>

#include "doors/grpc/reflection/descriptor_index.h"
#include "doors/testing/doors_fixture.h"

namespace sluice::doors::testing {
namespace {

using net::WireReader;
using net::WireWriter;

TEST(DescriptorIndex, FindsEveryKindOfSymbol) {
  const DescriptorIndex& index = DescriptorIndex::embedded();
  for (const std::string_view symbol :
       {"sluice.v1.RateLimiter", "sluice.v1.RateLimiter.CheckAndIncrement", "sluice.v1.CheckRequest",
        "sluice.v1.CheckRequest.cost", "sluice.v1.CheckRequest.DimensionsEntry", "sluice.v1.State",
        "sluice.v1.WARNING"}) {
    const auto files = index.file_containing(symbol);
    ASSERT_EQ(files.size(), 1u) << symbol;
    EXPECT_EQ(files, index.file("sluice/v1/rate_limiter.proto"));
  }
  EXPECT_TRUE(index.file_containing("sluice.v1").empty());
  EXPECT_TRUE(index.file_containing("").empty());
  EXPECT_TRUE(index.file("nothing.proto").empty());
  EXPECT_TRUE(index.is_message("grpc.health.v1.HealthCheckRequest"));
  EXPECT_FALSE(index.is_message("grpc.health.v1.Health"));
}

// A FileDescriptorProto that consists of a name and imports.
std::string file_proto(std::string_view name, std::initializer_list<std::string_view> imports) {
  std::string out;
  WireWriter writer(out);
  writer.string(1, name);
  for (const std::string_view import : imports) writer.element(3, import);
  return out;
}

TEST(DescriptorIndex, BringsImportsAlongOnceEach) {
  std::string set;
  const std::string a = file_proto("a", {"b", "c"});
  const std::string b = file_proto("b", {"c"});
  const std::string c = file_proto("c", {});
  for (const std::string& file : {c, b, a}) WireWriter(set).element(1, file);
  EXPECT_EQ(DescriptorIndex(set).file("a"), (std::vector<std::string_view>{a, b, c}));
}

class GrpcReflectionTest : public DoorsFixture {
 protected:
  // The relevant part of an answer, by its field number.
  struct Part {
    std::uint32_t field = 0;
    std::string bytes;
  };
  Part ask(std::uint32_t field, std::string_view text) {
    std::string question;
    WireWriter writer(question);
    writer.string(1, "host");
    writer.element(field, text);
    RecordedStream stream;
    const auto handler =
        app.open_stream({.path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"}, stream);
    handler->on_message(question);
    EXPECT_EQ(stream.sent.size(), 1u);
    handler->on_half_close();
    EXPECT_TRUE(stream.finished);
    EXPECT_EQ(stream.code, net::GrpcCode::kOk);

    Part part;
    WireReader reader(stream.sent.at(0));
    while (reader.next()) {
      switch (reader.field()) {
        case 1:
          EXPECT_EQ(reader.bytes(), "host");
          break;
        case 2:
          EXPECT_EQ(reader.bytes(), question) << "the question is repeated";
          break;
        default:
          part = {reader.field(), std::string(reader.bytes())};
      }
    }
    EXPECT_TRUE(reader.ok());
    return part;
  }
};

TEST_F(GrpcReflectionTest, ListsItsServices) {
  const Part list = ask(7, "");
  EXPECT_EQ(list.field, 6u);
  std::vector<std::string> names;
  WireReader reader(list.bytes);
  while (reader.next()) {
    WireReader service = reader.message();
    ASSERT_TRUE(service.next());
    names.emplace_back(service.string());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"envoy.service.ratelimit.v3.RateLimitService",
                                             "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                                             "grpc.reflection.v1alpha.ServerReflection",
                                             "ratelimiter.v1.RateLimiterService", "sluice.compat.v1.Allow",
                                             "sluice.compat.v1.Quota", "sluice.v1.RateLimiter"}));
}

TEST_F(GrpcReflectionTest, ShowsFilesByNameAndBySymbol) {
  const Part by_name = ask(3, "sluice/v1/rate_limiter.proto");
  const Part by_symbol = ask(4, "sluice.v1.RateLimiter");
  EXPECT_EQ(by_name.field, 4u);
  EXPECT_EQ(by_symbol.bytes, by_name.bytes);
}

TEST_F(GrpcReflectionTest, SaysWhatItDoesNotKnow) {
  const auto error_code = [](const Part& part) {
    EXPECT_EQ(part.field, 7u);
    WireReader reader(part.bytes);
    return reader.next() && reader.field() == 1 ? reader.int32() : -1;
  };
  EXPECT_EQ(error_code(ask(3, "nothing.proto")), 5);
  EXPECT_EQ(error_code(ask(4, "no.Such")), 5);
  EXPECT_EQ(error_code(ask(5, "")), 5);
  EXPECT_EQ(error_code(ask(6, "no.Such")), 5);
  EXPECT_EQ(error_code(ask(99, "")), 3);
}

TEST_F(GrpcReflectionTest, AMessageHasNoExtensions) {
  const Part none = ask(6, "sluice.v1.CheckRequest");
  EXPECT_EQ(none.field, 5u);
  EXPECT_EQ(none.bytes, std::string("\x0a\x16sluice.v1.CheckRequest"));
}

TEST_F(GrpcReflectionTest, GarbageEndsTheCall) {
  RecordedStream stream;
  const auto handler = app.open_stream(
      {.path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", .peer = &peer}, stream);
  handler->on_message("\xff");
  EXPECT_TRUE(stream.finished);
  EXPECT_EQ(stream.code, net::GrpcCode::kInternal);
  handler->on_half_close();
}

}  // namespace
}  // namespace sluice::doors::testing

#include "doors/grpc/error_details.h"

#include <gtest/gtest.h>

#include <map>

#include "doors/http/problem.h"
#include "doors/testing/wire_fields.h"
#include "net/grpc/protobuf_wire.h"

namespace sluice::doors {
namespace {

using testing::fields_of;

// The details by type, in the format of fields_of().
std::map<std::string, std::string> details_of(const net::GrpcStatus& status) {
  std::map<std::string, std::string> details;
  net::WireReader reader(status.details_bin);
  while (reader.next()) {
    if (reader.field() != 3) continue;
    std::string type, value;
    net::WireReader any = reader.message();
    while (any.next()) (any.field() == 1 ? type : value) = any.bytes();
    EXPECT_TRUE(any.ok());
    details[type] = fields_of(value, {1});
  }
  EXPECT_TRUE(reader.ok());
  return details;
}

constexpr const char* kErrorInfo = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr const char* kBadRequest = "type.googleapis.com/google.rpc.BadRequest";
constexpr const char* kRetryInfo = "type.googleapis.com/google.rpc.RetryInfo";

TEST(ErrorDetails, AFieldThatIsToBlameIsNamed) {
  const auto status = grpc_status(Error{ErrorCode::kInvalidArgument, "must be 0 or more", "cost"});
  EXPECT_EQ(status.message, "cost: must be 0 or more");
  EXPECT_TRUE(fields_of(status.details_bin).starts_with("1: 3\n2: \"must be 0 or more\"\n"));
  const auto details = details_of(status);
  ASSERT_EQ(details.size(), 2u);
  EXPECT_EQ(details.at(kBadRequest), "1: {\n  1: \"cost\"\n  2: \"must be 0 or more\"\n}\n");
}

TEST(ErrorDetails, TheReasonIsForPrograms) {
  for (const auto& [code, reason] : {std::pair{ErrorCode::kPolicyNotFound, "POLICY_NOT_FOUND"},
                                     {ErrorCode::kPermissionDenied, "PERMISSION_DENIED"}}) {
    const auto details = details_of(grpc_status(Error{code, "no", ""}));
    ASSERT_EQ(details.size(), 1u);
    std::string info;
    net::WireWriter(info).string(1, reason);
    net::WireWriter(info).string(2, "sluice");
    EXPECT_EQ(details.at(kErrorInfo), fields_of(info, {1}));
  }
}

TEST(ErrorDetails, WhatMayWorkLaterSaysWhen) {
  const auto details = details_of(grpc_status(Error{ErrorCode::kUnavailable, "too many", ""}));
  ASSERT_EQ(details.size(), 2u);
  EXPECT_EQ(details.at(kRetryInfo), "1: {\n  1: 1\n}\n");
}

TEST(ErrorDetails, BytesThatAreNoTextAreReplaced) {
  const auto status = grpc_status(Error{ErrorCode::kInvalidArgument, "\"\xff\" is wrong", "a\xc3"});
  EXPECT_EQ(details_of(status).at(kBadRequest),
            "1: {\n  1: \"a\xef\xbf\xbd\"\n  2: \"\"\xef\xbf\xbd\" is wrong\"\n}\n");
}

}  // namespace
}  // namespace sluice::doors

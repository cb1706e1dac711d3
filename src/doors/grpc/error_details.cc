#include "doors/grpc/error_details.h"

#include "base/text/utf8.h"
#include "net/grpc/protobuf_wire.h"

namespace sluice::doors {
namespace {

using net::WireWriter;

constexpr std::int64_t kRetryAfterSeconds = 1;  // same as the Retry-After header

// An element of Status.details: google.protobuf.Any.
void add_detail(WireWriter& status, std::string_view type, std::string_view message) {
  const std::size_t any = status.begin_message(3);
  status.string(1, std::string("type.googleapis.com/google.rpc.").append(type));
  status.string(2, message);
  status.end_message(any);
}

std::string error_info(std::string_view reason) {
  std::string capitals(reason);
  for (char& letter : capitals)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  std::string message;
  WireWriter writer(message);
  writer.string(1, capitals);
  writer.string(2, "sluice");
  return message;
}

std::string bad_request(const Error& error) {
  std::string message;
  WireWriter writer(message);
  const std::size_t violation = writer.begin_message(1);
  writer.string(1, as_utf8(error.field));
  writer.string(2, as_utf8(error.message));
  writer.end_message(violation);
  return message;
}

std::string retry_info() {
  std::string message;
  WireWriter writer(message);
  const std::size_t delay = writer.begin_message(1);
  writer.int64(1, kRetryAfterSeconds);
  writer.end_message(delay);
  return message;
}

}  // namespace

std::string error_details(net::GrpcCode code, std::string_view reason, const Error& error) {
  std::string status;
  WireWriter writer(status);
  writer.int32(1, static_cast<std::int32_t>(code));
  writer.string(2, as_utf8(error.message));
  add_detail(writer, "ErrorInfo", error_info(reason));
  if (!error.field.empty()) add_detail(writer, "BadRequest", bad_request(error));
  if (error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kOverloaded)
    add_detail(writer, "RetryInfo", retry_info());
  return status;
}

}  // namespace sluice::doors

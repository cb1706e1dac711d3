// The standard service grpc.reflection.{v1,v1alpha}.ServerReflection: lists services and messages for tools
// like grpcurl. Both versions have the same messages, so one handler serves both.
#include <string>
#include <vector>

#include "doors/grpc/reflection/descriptor_index.h"
#include "doors/handlers.h"
#include "doors/http/problem.h"
#include "net/grpc/protobuf_wire.h"

namespace sluice::doors {
namespace {

using net::GrpcCode;
using net::WireReader;
using net::WireWriter;

// ServerReflectionRequest. The last member of the oneof on the wire counts.
struct Question {
  enum Kind : std::uint32_t {  // by field number
    kNone = 0,
    kFileByFilename = 3,
    kFileContainingSymbol = 4,
    kFileContainingExtension = 5,
    kAllExtensionNumbersOfType = 6,
    kListServices = 7,
  };
  std::string_view host;
  std::uint32_t kind = kNone;
  std::string_view text;
};

bool read_question(std::string_view message, Question& out) {
  WireReader reader(message);
  while (reader.next()) {
    const std::uint32_t field = reader.field();
    if (field == 1) out.host = reader.string();
    if (field >= Question::kFileByFilename && field <= Question::kListServices) {
      out.kind = field;
      out.text = reader.bytes();
    }
  }
  return reader.ok();
}

void write_error(GrpcCode code, std::string_view message, WireWriter& writer) {
  const auto error = writer.begin_message(7);
  writer.int32(1, static_cast<std::int32_t>(code));
  writer.string(2, message);
  writer.end_message(error);
}

void write_files(const std::vector<std::string_view>& files, std::string_view asked, WireWriter& writer) {
  if (files.empty()) return write_error(GrpcCode::kNotFound, "unknown: " + std::string(asked), writer);
  const auto response = writer.begin_message(4);
  for (const std::string_view file : files) writer.element(1, file);
  writer.end_message(response);
}

void write_services(const std::vector<std::string>& services, WireWriter& writer) {
  const auto response = writer.begin_message(6);
  for (const std::string& service : services) {
    const auto entry = writer.begin_message(1);
    writer.string(1, service);
    writer.end_message(entry);
  }
  writer.end_message(response);
}

// There are no extensions, so a known message has an empty list of them.
void write_extension_numbers(const DescriptorIndex& index, std::string_view type, WireWriter& writer) {
  if (!index.is_message(type))
    return write_error(GrpcCode::kNotFound, "unknown: " + std::string(type), writer);
  const auto response = writer.begin_message(5);
  writer.string(1, type);
  writer.end_message(response);
}

void write_answer(const Question& question, WireWriter& writer) {
  const DescriptorIndex& index = DescriptorIndex::embedded();
  switch (question.kind) {
    case Question::kFileByFilename:
      return write_files(index.file(question.text), question.text, writer);
    case Question::kFileContainingSymbol:
      return write_files(index.file_containing(question.text), question.text, writer);
    case Question::kFileContainingExtension:
      return write_error(GrpcCode::kNotFound, "there are no extensions", writer);
    case Question::kAllExtensionNumbersOfType:
      return write_extension_numbers(index, question.text, writer);
    case Question::kListServices:
      return write_services(index.services(), writer);
    default:
      return write_error(GrpcCode::kInvalidArgument, "the request is empty", writer);
  }
}

class ReflectionHandler final : public net::GrpcStreamHandler {
 public:
  explicit ReflectionHandler(net::GrpcStream& stream) : stream_(stream) {}

  void on_message(std::string_view message) override {
    if (finished_) return;
    Question question;
    if (!read_question(message, question)) {
      finished_ = true;
      return stream_.finish(grpc_status(malformed_message()));
    }
    std::string reply;
    WireWriter writer(reply);
    writer.string(1, question.host);
    writer.element(2, message);
    write_answer(question, writer);
    stream_.send(reply);
  }

  void on_half_close() override {
    if (!finished_) stream_.finish({});
    finished_ = true;
  }

 private:
  net::GrpcStream& stream_;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<net::GrpcStreamHandler> grpc_reflect(DoorContext&, const net::GrpcContext&,
                                                     net::GrpcStream& stream) {
  return std::make_unique<ReflectionHandler>(stream);
}

}  // namespace sluice::doors

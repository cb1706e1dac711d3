#include "telemetry/trace/otlp_encoder.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/text/utf8.h"
#include "net/grpc/protobuf_wire.h"

namespace sluice {
namespace {

using net::WireWriter;

// The fields of opentelemetry/proto, version 1: facts of the format.
namespace request {
constexpr std::uint32_t kResourceSpans = 1;
}
namespace resource_spans {
constexpr std::uint32_t kResource = 1, kScopeSpans = 2;
}
namespace scope_spans {
constexpr std::uint32_t kScope = 1, kSpans = 2;
}
namespace span {
constexpr std::uint32_t kTraceId = 1, kSpanId = 2, kParentSpanId = 4, kName = 5, kKind = 6, kStart = 7,
                        kEnd = 8, kAttributes = 9, kStatus = 15, kFlags = 16;
constexpr std::uint64_t kServer = 2;
}  // namespace span
namespace status {
constexpr std::uint32_t kMessage = 2, kCode = 3;
constexpr std::uint64_t kError = 2;
}  // namespace status
namespace key_value {
constexpr std::uint32_t kKey = 1, kValue = 2;
}
namespace any_value {
constexpr std::uint32_t kString = 1, kBool = 2, kInt = 3;
}
constexpr std::uint32_t kResourceAttribute = 1, kScopeName = 1, kScopeVersion = 2;

constexpr std::string_view kSpanName = "sluice.check", kScopeText = "sluice";

template <class Number>
void append_fixed(std::string& out, std::uint32_t field, Number number) {
  static_assert(std::endian::native == std::endian::little);
  for (std::uint32_t tag = field << 3 | (sizeof number == 8 ? 1u : 5u); tag != 0; tag >>= 7)
    out += static_cast<char>(tag < 0x80 ? tag : tag | 0x80);
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof number);
}

std::string_view bytes_of(std::span<const std::uint8_t> id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

// One attribute: its key, and a value that `write` writes.
template <class Write>
void add_attribute(WireWriter& out, std::uint32_t field, std::string_view key, const Write& write) {
  const auto attribute = out.begin_message(field);
  out.element(key_value::kKey, key);
  const auto value = out.begin_message(key_value::kValue);
  write();
  out.end_message(value);
  out.end_message(attribute);
}

void add_text(WireWriter& out, std::uint32_t field, std::string_view key, std::string_view text) {
  if (text.empty()) return;
  add_attribute(out, field, key, [&] {
    net::is_ascii(text) ? out.element(any_value::kString, text)
                        : out.element(any_value::kString, as_utf8(text));
  });
}

void add_number(WireWriter& out, std::string_view key, std::int64_t number) {
  add_attribute(out, span::kAttributes, key,
                [&] { out.present_uint64(any_value::kInt, static_cast<std::uint64_t>(number)); });
}

void add_bool(WireWriter& out, std::string_view key, bool value) {
  add_attribute(out, span::kAttributes, key, [&] { out.present_uint64(any_value::kBool, value ? 1 : 0); });
}

void add_attributes(WireWriter& out, const Span& of) {
  const auto text = [&](std::string_view key, std::string_view value) {
    add_text(out, span::kAttributes, key, value);
  };
  text("sluice.tenant", of.tenant);
  text("sluice.key", of.key);
  text("sluice.request_id", of.request_id);
  text("sluice.policy", of.policy);
  if (!of.policy.empty()) add_number(out, "sluice.policy_version", of.policy_version);
  text("sluice.limit", of.limit);
  text("sluice.reason", of.reason);
  text("sluice.store", of.store);
  add_bool(out, "sluice.allowed", of.allowed);
  add_bool(out, "sluice.degraded", of.degraded);
  if (of.slow) add_bool(out, "sluice.slow", true);
  if (of.replayed) add_bool(out, "sluice.replayed", true);
  add_number(out, "sluice.cost", of.cost);
  if (of.remaining >= 0) add_number(out, "sluice.remaining", of.remaining);
}

}  // namespace

OtlpEncoder::OtlpEncoder(const ResourceAttributes& resource, std::string_view version) {
  WireWriter about(resource_);
  for (const auto& [key, value] : resource) add_text(about, kResourceAttribute, key, value);
  WireWriter scope(scope_);
  scope.string(kScopeName, kScopeText);
  scope.string(kScopeVersion, version);
}

void OtlpEncoder::add(const Span& of) {
  WireWriter out(spans_);
  const auto message = out.begin_message(scope_spans::kSpans);
  out.element(span::kTraceId, bytes_of(of.trace_id));
  out.element(span::kSpanId, bytes_of(of.span_id));
  if (of.parent_id != decltype(of.parent_id){}) out.element(span::kParentSpanId, bytes_of(of.parent_id));
  out.string(span::kName, kSpanName);
  out.uint64(span::kKind, span::kServer);
  append_fixed(spans_, span::kStart, static_cast<std::uint64_t>(of.begin_ns));
  append_fixed(spans_, span::kEnd, static_cast<std::uint64_t>(of.end_ns));
  add_attributes(out, of);
  if (of.degraded) {
    const auto state = out.begin_message(span::kStatus);
    out.string(status::kMessage, of.reason);
    out.uint64(status::kCode, status::kError);
    out.end_message(state);
  }
  append_fixed(spans_, span::kFlags, std::uint32_t{of.flags});
  out.end_message(message);
  ++count_;
}

const std::string& OtlpEncoder::finish() {
  message_.clear();
  WireWriter out(message_);
  const auto resource_message = out.begin_message(request::kResourceSpans);
  out.element(resource_spans::kResource, resource_);
  const auto scope_message = out.begin_message(resource_spans::kScopeSpans);
  out.element(scope_spans::kScope, scope_);
  message_ += spans_;
  out.end_message(scope_message);
  out.end_message(resource_message);
  return message_;
}

void OtlpEncoder::clear() {
  spans_.clear();
  count_ = 0;
}

std::uint64_t rejected_spans(std::string_view response) {
  constexpr std::uint32_t kPartialSuccess = 1, kRejected = 1;
  std::int64_t rejected = 0;
  net::WireReader reader(response);
  while (reader.next()) {
    if (reader.field() != kPartialSuccess) continue;
    net::WireReader part = reader.message();
    while (part.next())
      if (part.field() == kRejected) rejected = part.int64();
    if (!part.ok()) return 0;
  }
  return reader.ok() && rejected > 0 ? static_cast<std::uint64_t>(rejected) : 0;
}

}  // namespace sluice

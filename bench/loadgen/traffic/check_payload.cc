#include "loadgen/traffic/check_payload.h"

#include <cassert>
#include <cstdio>

#include "loadgen/traffic/recording.h"

namespace sluice::loadgen {
namespace {

constexpr std::string_view kKeyTemplate = "k#########";

void append_varint(std::string& out, std::size_t n) {
  for (; n >= 0x80; n >>= 7) out.push_back(static_cast<char>(n | 0x80));
  out.push_back(static_cast<char>(n));
}

// Wire type 2: a tag, a length, bytes.
void append_bytes(std::string& out, unsigned field, std::string_view bytes) {
  append_varint(out, field << 3 | 2);
  append_varint(out, bytes.size());
  out += bytes;
}

void append_text(std::string& out, unsigned field, std::string_view text) {
  if (!text.empty()) append_bytes(out, field, text);
}

std::string with_grpc_prefix(std::string_view message) {
  std::string out(1, '\0');  // not compressed
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(message.size() >> shift));
  out += message;
  return out;
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
      continue;
    }
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + '"';
}

std::string http_head(std::string_view host) {
  return "POST /v1/ratelimit/check HTTP/1.1\r\nHost: " + std::string(host) +
         "\r\nContent-Type: application/json\r\nContent-Length: ";
}

std::string grpc_message(const CheckRequest& request) {
  std::string message;
  append_text(message, 1, request.policy_id);
  const auto add = [&message](std::string_view name, std::string_view value) {
    std::string entry;
    append_bytes(entry, 1, name);
    append_bytes(entry, 2, value);
    append_bytes(message, 2, entry);
  };
  if (!request.key.empty()) add("key", request.key);
  for (const Dimension& dimension : request.dimensions) add(dimension.name, dimension.value);
  if (request.cost) {
    append_varint(message, 3 << 3);
    append_varint(message, static_cast<std::size_t>(*request.cost));
  }
  append_text(message, 4, request.request_id);
  append_text(message, 5, request.tenant);
  append_text(message, 6, request.resource);
  return message;
}

void append_member(std::string& json, std::string_view name, std::string_view text) {
  if (!text.empty()) json += json_text(name) + ":" + json_text(text) + ",";
}

std::string json_body(const CheckRequest& request) {
  std::string body = "{";
  append_member(body, "policy_id", request.policy_id);
  append_member(body, "tenant_id", request.tenant);
  append_member(body, "resource", request.resource);
  append_member(body, "key", request.key);
  append_member(body, "request_id", request.request_id);
  if (request.cost) body += R"("tokens":)" + std::to_string(*request.cost) + ",";
  body += R"("dimensions":{)";
  for (const Dimension& dimension : request.dimensions) append_member(body, dimension.name, dimension.value);
  if (body.back() == ',') body.pop_back();
  return body + "}}";
}

}  // namespace

void write_key_digits(char* to, std::uint32_t key) {
  for (int i = kKeyDigits - 1; i >= 0; --i, key /= 10) to[i] = static_cast<char>('0' + key % 10);
}

Payload::Payload(std::string bytes, bool varies) : bytes_(std::move(bytes)), varies_(varies) {
  if (!varies_) return;
  digits_at_ = bytes_.find(kKeyTemplate) + 1;
}

Payload Payload::grpc_check(const CheckShape& shape) {
  std::string entry;
  append_bytes(entry, 1, shape.dimension);
  append_bytes(entry, 2, kKeyTemplate);
  std::string message;
  append_text(message, 1, shape.policy_id);
  append_bytes(message, 2, entry);
  append_text(message, 5, shape.tenant);
  append_text(message, 6, shape.resource);
  return Payload(with_grpc_prefix(message), true);
}

Payload Payload::http_check(const CheckShape& shape, std::string_view host) {
  std::string body = "{";
  append_member(body, "policy_id", shape.policy_id);
  append_member(body, "tenant_id", shape.tenant);
  append_member(body, "resource", shape.resource);
  if (shape.dimension == "key") {
    body += R"("key":")" + std::string(kKeyTemplate) + R"("})";
  } else {
    body += R"("dimensions":{)" + json_text(shape.dimension) + R"(:")" + std::string(kKeyTemplate) + R"("}})";
  }
  return Payload(http_head(host) + std::to_string(body.size()) + "\r\n\r\n" + body, true);
}

Payload Payload::grpc_envoy(const CheckShape& shape) {
  std::string message;
  append_text(message, 1, shape.tenant);
  const auto add_descriptor = [&](std::string_view key, std::string_view value) {
    std::string entry, descriptor;
    append_bytes(entry, 1, key);
    append_bytes(entry, 2, value);
    append_bytes(descriptor, 1, entry);
    append_bytes(message, 2, descriptor);
  };
  add_descriptor("path", shape.resource);
  add_descriptor(shape.dimension, kKeyTemplate);
  return Payload(with_grpc_prefix(message), true);
}

Payload Payload::grpc_constant(std::string_view message) { return Payload(with_grpc_prefix(message), false); }

Payload::Payload(const Recording& recording, std::string head)
    : recording_(&recording), bytes_(std::move(head)), varies_(true) {}

Payload Payload::grpc_recorded(const Recording& recording) { return {recording, {}}; }

Payload Payload::http_recorded(const Recording& recording, std::string_view host) {
  return {recording, http_head(host)};
}

void Payload::render(std::uint32_t key, std::string& request) const {
  if (recording_ != nullptr) return render_recorded(key, request);
  if (request.empty()) request = bytes_;
  if (!varies_) return;
  assert(key < kKeysMax && request.size() == bytes_.size());
  write_key_digits(request.data() + digits_at_, key);
}

// bytes_ is the head of an HTTP request; for gRPC it is empty.
void Payload::render_recorded(std::uint32_t n, std::string& request) const {
  Recording::Room room;
  const CheckRequest recorded = recording_->request(n, room);
  if (bytes_.empty()) {
    request = with_grpc_prefix(grpc_message(recorded));
    return;
  }
  const std::string body = json_body(recorded);
  request = bytes_ + std::to_string(body.size()) + "\r\n\r\n" + body;
}

bool grpc_answer_allows(std::string_view answer) {
  return answer.size() >= 7 && answer[5] == '\x08' && answer[6] == '\x01';
}

bool json_answer_allows(std::string_view body) {
  const std::size_t name = body.find("\"allowed\"");
  if (name == std::string_view::npos) return false;
  const std::size_t value = body.find_first_not_of(": \t\r\n", name + 9);
  return value != std::string_view::npos && body.substr(value).starts_with("true");
}

}  // namespace sluice::loadgen

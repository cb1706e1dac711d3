#include "loadgen/check_payload.h"

#include <cassert>

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
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + '"';
}

void append_member(std::string& json, std::string_view name, std::string_view text) {
  if (!text.empty()) json += json_text(name) + ":" + json_text(text) + ",";
}

}  // namespace

void write_key_digits(char* to, std::uint32_t key) {
  for (int i = kKeyDigits - 1; i >= 0; --i, key /= 10) to[i] = static_cast<char>('0' + key % 10);
}

Payload::Payload(std::string bytes, bool varies) : bytes_(std::move(bytes)), varies_(varies) {
  if (!varies_) return;
  digits_at_ = bytes_.find(kKeyTemplate) + 1;
  set_key(bytes_.data(), 0);
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
  std::string request =
      "POST /v1/ratelimit/check HTTP/1.1\r\nHost: " + std::string(host) +
      "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  return Payload(request + body, true);
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

void Payload::set_key(char* copy, std::uint32_t key) const {
  assert(key < kKeysMax);
  write_key_digits(copy + digits_at_, key);
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

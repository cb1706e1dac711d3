#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::loadgen {

// The requests to send. Empty fields are left out of the request.
struct CheckShape {
  std::string policy_id;
  std::string tenant = "bench";
  std::string resource = "/bench";
  std::string dimension = "key";  // the dimension that varies
};

inline constexpr int kKeyDigits = 9;
// Writes `key` with leading zeros, kKeyDigits characters.
void write_key_digits(char* to, std::uint32_t key);

class Recording;

// A request template with a place for the key, or the requests of a recording. Keys are "k" and nine digits,
// so every request has the same length and only the digits change: rendering one costs a few nanoseconds.
class Payload {
 public:
  static constexpr std::uint32_t kKeysMax = 1'000'000'000;

  // The gRPC message of CheckAndIncrement, with its five-byte prefix.
  static Payload grpc_check(const CheckShape& shape);
  // A complete HTTP/1.1 request: POST /v1/ratelimit/check.
  static Payload http_check(const CheckShape& shape, std::string_view host);
  // The gRPC message of Envoy's ShouldRateLimit: the domain is the tenant, and there are two descriptors, the
  // resource as `path` and the dimension that varies.
  static Payload grpc_envoy(const CheckShape& shape);
  // Any gRPC message, the same each time; the five-byte prefix is added here.
  static Payload grpc_constant(std::string_view message);
  // Like grpc_check() and http_check(), but request n is that of the recording, which must outlive this
  // object.
  static Payload grpc_recorded(const Recording& recording);
  static Payload http_recorded(const Recording& recording, std::string_view host);

  // Makes `request` the one for this key, or request n of the recording. `request` must be empty, or the
  // result of an earlier call: then only the digits are written. REQUIRES: key < kKeysMax, or less than the
  // size of the recording.
  void render(std::uint32_t key, std::string& request) const;

 private:
  Payload(std::string bytes, bool varies);
  Payload(const Recording& recording, std::string head);
  void render_recorded(std::uint32_t n, std::string& request) const;
  const Recording* recording_ = nullptr;  // null: none
  std::string bytes_;
  bool varies_;
  std::size_t digits_at_ = 0;
};

// The `allowed` of a CheckResponse, from the first bytes of the gRPC answer (prefix included). Field 1 comes
// first and is left out if false, as in every protobuf encoder. In Envoy's RateLimitResponse field 1 is 1
// when allowed, too.
bool grpc_answer_allows(std::string_view answer);
// The same for a JSON answer.
bool json_answer_allows(std::string_view body);

}  // namespace sluice::loadgen

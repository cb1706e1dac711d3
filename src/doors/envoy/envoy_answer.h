#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "document/document_tree.h"
#include "doors/envoy/envoy_request.h"
#include "doors/http/headers/rate_limit_headers.h"
#include "engine/decision/joint_decision.h"
#include "net/http/http_api.h"
#include "policy/envoy/envoy_lookup.h"

// The answer to Envoy, envoy.service.ratelimit.v3.RateLimitResponse, in protobuf or JSON.
namespace sluice::doors {

// What becomes of one descriptor of a request: its rule and its check. Plain data.
struct PlannedDescriptor {
  enum class Kind : std::uint8_t {
    kLetThrough,  // listed without a limit, or replaced; not checked
    kRule,        // a limit of the domain's tree
    kOverride,    // a limit that came with the descriptor
    kOther,       // whichever policy matches it
  };
  static constexpr std::size_t kNotAsked = SIZE_MAX;

  Kind kind = Kind::kOther;
  const EnvoyRule* rule = nullptr;  // null: the domain's tree has none
  std::size_t resource_end = 0;     // end of its text in the joined text of all descriptors
  std::size_t check = kNotAsked;    // position among the checks that are decided together,
  bool gives_back = false;          // or among those that give hits back
  bool is_full = false;             // a quota without room, beside one that has room: see envoy_quota.h

  // Position among the checks that are decided.
  std::size_t decided() const { return gives_back ? kNotAsked : check; }
};

// A DescriptorStatus. Views are valid as long as the decision.
struct EnvoyStatus {
  bool over_limit = false;
  bool has_limit = false;  // if false, the next three fields mean nothing
  std::uint32_t requests_per_unit = 0;
  EnvoyUnit unit = EnvoyUnit::kUnknown;
  std::string_view name;
  std::uint32_t remaining = 0;
  std::int64_t reset_after_s = 0;  // 0: not reported
};

EnvoyStatus status_of(const PlannedDescriptor& descriptor, const Decision* decision);
// Status of a quota that the look found full, without its name.
EnvoyStatus status_of_full(const LimitStatus& quota, const Decision& looked);

// The whole answer, reused. Not thread-safe. Valid until the engine's next decision and the next use of the
// headers.
struct EnvoyAnswer {
  bool over_limit = false;
  bool unreachable = false;  // denied because the store did not answer
  std::vector<EnvoyStatus> statuses;
  std::span<const net::Header> headers;  // for Envoy's client
  net::HttpResponse denial;              // additional headers and the body, if denied
  std::optional<DocumentNode> metadata;  // a map

  // `joint` null: nothing was checked, so all descriptors pass. Descriptors that give hits back are treated
  // as not checked; envoy_refund.h reports them.
  void fill(const std::vector<PlannedDescriptor>& planned, const JointDecision* joint,
            RateLimitHeaders& header_writer);

  void append_wire(std::string& out) const;
  void append_json(std::string& out) const;

 private:
  void fill_denial(const Decision& decision);
};

}  // namespace sluice::doors

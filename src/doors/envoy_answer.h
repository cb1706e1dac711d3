#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doors/envoy_request.h"
#include "doors/rate_limit_headers.h"
#include "engine/joint_decision.h"
#include "net/http_api.h"
#include "policy/document_tree.h"
#include "policy/envoy_lookup.h"

// What Envoy is told: envoy.service.ratelimit.v3.RateLimitResponse, on the wire or as JSON.
namespace sluice::doors {

// One descriptor on its way through the door.
struct EnvoySlot {
  enum class Kind : std::uint8_t {
    kLetThrough,  // listed without a limit, or replaced: nothing is asked
    kRule,        // a limit of its domain's tree
    kOverride,    // a limit that came with it
    kOther,       // whatever policy is meant for it
  };
  static constexpr std::size_t kNotAsked = SIZE_MAX;

  Kind kind = Kind::kOther;
  const EnvoyRule* rule = nullptr;  // null: the domain's tree has none
  std::size_t resource_end = 0;     // of its text, in a text with those of all
  std::size_t check = kNotAsked;    // its position among the checks that are decided together,
  bool gives_back = false;          // or among those that give back instead
  bool is_full = false;             // a quota without room, beside one that has some: see envoy_quota.h

  // Its position among those that are decided.
  std::size_t decided() const { return gives_back ? kNotAsked : check; }
};

// A DescriptorStatus. Views are as good as the decision.
struct EnvoyStatus {
  bool over_limit = false;
  bool has_limit = false;  // else the three after it mean nothing
  std::uint32_t requests_per_unit = 0;
  EnvoyUnit unit = EnvoyUnit::kUnknown;
  std::string_view name;
  std::uint32_t remaining = 0;
  std::int64_t reset_after_s = 0;  // 0: not told
};

EnvoyStatus status_of(const EnvoySlot& slot, const Decision* decision);
// Of a quota that a look found without room; its name is left out.
EnvoyStatus status_of_full(const LimitStatus& quota, const Decision& looked);

// The whole answer, reused. Not thread-safe. It is good until the limiter's next decision and the next use of
// the headers.
struct EnvoyAnswer {
  bool over_limit = false;
  bool unreachable = false;  // it was denied for want of an answer from the store
  std::vector<EnvoyStatus> statuses;
  std::span<const net::Header> headers;  // for Envoy's client
  net::HttpResponse denial;              // more of them and the body, if it was denied
  std::optional<DocumentNode> metadata;  // a map

  // `joint` null: nothing was asked, all pass. What is given back is as if it were not asked for;
  // envoy_refund.h tells the rest.
  void fill(const std::vector<EnvoySlot>& slots, const JointDecision* joint, RateLimitHeaders& header_writer);

  void append_wire(std::string& out) const;
  void append_json(std::string& out) const;

 private:
  void tell_denial(const Decision& decision);
};

}  // namespace sluice::doors

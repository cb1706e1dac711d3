#pragma once

#include <array>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/log/access_entry.h"
#include "plan/log/field_names.h"
#include "plan/log/traffic_entry.h"

namespace sluice::plan {

// How the lines of an access log become checks. Every field name is one that FieldNames knows or can request.
struct RequestRules {
  std::string tenant;             // of all requests; empty: see tenant_from
  std::string tenant_from;        // the field that names the tenant; empty: `tenant`, if the log has it
  std::string key;                // the field that is the key; empty: the user or, without one, the address
  std::string cost;               // the field that holds the cost; empty: the policy's cost map decides
  std::vector<std::string> maps;  // "dimension=field"
  std::string denied_status = "429";  // the status that the server sent for denied requests
};

// Turns a line of a log into the check that a caller would have made. Only dimensions that some policy uses
// become part of the request. Immutable once made; thread-safe.
class RequestMaker {
 public:
  // Requests the fields that the rules name from `names`. The error is a sentence.
  static std::expected<RequestMaker, std::string> make(const RequestRules& rules, FieldNames& names,
                                                       const std::vector<std::string>& used_dimensions);

  // Storage for what a request points to.
  struct Room {
    std::array<Dimension, kLogFields + kLogFieldsAskedMax> dimensions;
    std::string resource;
  };

  // True: `out` is the request, with views into `entry` and `room`. False: the line holds no request. The
  // error is a reason: the cost field is not a valid cost. `this` must outlive the request.
  std::expected<bool, std::string> make_request(const AccessEntry& entry, Room& room,
                                                TrafficEntry& out) const;

  // The tenant of all requests; empty: each names its own.
  const std::string& tenant() const { return tenant_; }
  // Whether the rules name fields of access logs; usage events have no such fields.
  bool asks_for_fields() const { return asks_for_fields_; }

  // Dimensions whose values are secrets, so that reports do not show them.
  bool is_secret(std::string_view dimension) const;

 private:
  struct Source {
    std::string dimension;
    FieldIndex field = 0;
  };

  std::string tenant_;
  FieldIndex tenant_field_ = index_of(LogField::kTenant);
  std::optional<FieldIndex> key_field_;
  std::optional<FieldIndex> cost_field_;
  std::vector<Source> sources_;
  std::string denied_status_;
  bool asks_for_fields_ = false;
};

}  // namespace sluice::plan

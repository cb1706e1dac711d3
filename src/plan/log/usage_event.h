#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "doors/check/check_list.h"
#include "plan/log/traffic_entry.h"

namespace sluice::plan {

// Reads usage events: each line is the body of a check (doors/http/fields/check_json.h) with two more
// members: `at`, its time (Unix milliseconds or RFC 3339), and, if known, `allowed`, the answer. Views of an
// entry are valid until the next line. Not thread-safe.
//
// Events that a server has sent (usage/event_encoder.h) have an `event_id`, and say `ts` for `at` and
// `tenant` for `tenant_id`.
//
//   {"at":1792000000123,"tenant_id":"search-service","resource":"/search","key":"alice","tokens":1,"allowed":true}
class UsageEventReader {
 public:
  // `tenant` overrides the tenant of all events; empty: each must name its own. False: the event is no
  // request, but units of a lease that were given back. The error is a reason for people.
  std::expected<bool, std::string> read(std::string_view line, std::string_view tenant, TrafficEntry& entry);

  // Whether the line looks like an event, valid or not: it has the member `at` or `event_id`.
  static bool is_event(std::string_view line);

 private:
  std::string scratch_;
  std::string check_scratch_;
  doors::CheckList checks_;
};

}  // namespace sluice::plan

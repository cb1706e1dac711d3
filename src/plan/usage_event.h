#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "doors/check_list.h"
#include "plan/access_entry.h"
#include "plan/traffic_entry.h"

namespace sluice::plan {

// Reads usage events: on each line the body of a check (doors/check_json.h) with two members more, `at`, when
// it was (Unix milliseconds or RFC 3339), and, if known, `allowed`, what the answer was. Views of an entry
// are good until the next line. Not thread-safe.
//
//   {"at":1792000000123,"tenant_id":"search-service","resource":"/search","key":"alice","tokens":1,"allowed":true}
class UsageEventReader {
 public:
  // `tenant`: that of all events, whatever they say; empty: each must say its own.
  Reading read(std::string_view line, std::string_view tenant, TrafficEntry& entry);

  // Whether the line looks like one, good or not: it has the member `at`.
  static bool is_event(std::string_view line);

 private:
  std::string scratch_;
  std::string check_scratch_;
  doors::CheckList checks_;
};

}  // namespace sluice::plan

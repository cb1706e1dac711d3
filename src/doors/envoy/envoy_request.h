#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithm/limit_params.h"
#include "base/error.h"
#include "base/limits.h"
#include "policy/envoy/envoy_names.h"

// Envoy's request, envoy.service.ratelimit.v3.RateLimitRequest, read from protobuf or JSON. Plain values;
// views point into the message.
namespace sluice::doors {

// Numbered as in the protocol.
enum class EnvoyUnit : std::uint8_t { kUnknown, kSecond, kMinute, kHour, kDay, kMonth, kYear, kWeek };

std::string_view to_string(EnvoyUnit unit);        // "SECOND"
EnvoyUnit unit_of_period(std::int64_t period_us);  // kUnknown if it is none of them
std::int64_t period_us(EnvoyUnit unit);            // 0 for kUnknown

// The numbers on the wire, not validated.
struct EnvoyOverride {
  std::uint32_t requests_per_unit = 0;
  std::uint32_t unit = 0;
};

struct EnvoyRequest {
  struct Descriptor {
    std::size_t entries_end = 0;  // the next descriptor's entries begin there
    std::optional<EnvoyOverride> limit;
    std::optional<std::uint64_t> hits_addend;  // 0: look without charging
    bool gives_back = false;                   // gives the hits back instead of charging them
  };
  std::string_view domain;
  std::uint32_t hits_addend = 0;  // 0 means 1
  std::vector<Descriptor> descriptors;
  std::vector<EnvoyEntry> entries;  // of all descriptors
  // Values that differ from the message; entries point into it.
  std::deque<std::string> made;
  // Dimensions that differ from the entries.
  std::deque<std::vector<Dimension>> fitted;

  void clear();
  // The entries of one descriptor.
  std::span<const EnvoyEntry> entries_of(std::size_t descriptor) const {
    const std::size_t begin = descriptor == 0 ? 0 : descriptors[descriptor - 1].entries_end;
    return {entries.data() + begin, descriptors[descriptor].entries_end - begin};
  }
  // The entries as dimensions, for policies that name them. Keys that are too long are left out. A value that
  // is too long is counted by its hash: an error would let the request pass Envoy, and leaving the value out
  // would let it pass the limit.
  std::span<const Dimension> dimensions_of(std::size_t descriptor) {
    const auto entries_here = entries_of(descriptor);
    for (const EnvoyEntry& entry : entries_here)
      if (entry.name.size() > kNameBytesMax || entry.value.size() > kKeyBytesMax) [[unlikely]]
        return fit(entries_here);
    return entries_here;
  }
  // How much a descriptor charges; nullopt if neither it nor the request says.
  std::optional<std::uint64_t> hits_of(std::size_t descriptor) const;

 private:
  std::span<const Dimension> fit(std::span<const EnvoyEntry> too_long);
};

// Values come from Envoy's clients, for example from headers. Bad values must not make a request fail,
// because Envoy would then let it pass. So bytes that are not UTF-8 are replaced.
//
// Each function reads a request and refuses what no server would accept: an empty domain, no descriptors, a
// descriptor without entries, an empty key, an override without a unit, or exceeded limits
// (base/limits/envoy_limits.h). The error names the field.
Result<void> read_envoy_request(std::string_view message, EnvoyRequest& out);
// proto3 JSON: names as in the .proto file or in camel case. Strings with escapes are decoded into `scratch`.
Result<void> read_envoy_json(std::string_view body, std::string& scratch, EnvoyRequest& out);

// Appends the resource of a descriptor that no rule matches, by which policies are found: envoy_resource().
// If that is longer than a resource may be, the longest values end early, in a hash of the whole value. So
// different descriptors have different resources, and every key and value is in its place for patterns.
void append_fitting_resource(std::span<const EnvoyEntry> entries, std::string& out);

// The rate of an override. REQUIRES: the request was read without an error.
Rate rate_of(const EnvoyOverride& limit);

// Used by both readers. REQUIRES: a request was read.
Result<void> check_envoy_request(const EnvoyRequest& request);
std::unexpected<Error> too_many_envoy_descriptors();
// REQUIRES: the latest descriptor is the one with too many entries.
std::unexpected<Error> too_many_envoy_entries(const EnvoyRequest& request);

}  // namespace sluice::doors

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
#include "policy/envoy_names.h"

// What Envoy asks: envoy.service.ratelimit.v3.RateLimitRequest, from the wire or as JSON. Plain values; views
// point into the message.
namespace sluice::doors {

// By their numbers in the protocol.
enum class EnvoyUnit : std::uint8_t { kUnknown, kSecond, kMinute, kHour, kDay, kMonth, kYear, kWeek };

std::string_view to_string(EnvoyUnit unit);        // "SECOND"
EnvoyUnit unit_of_period(std::int64_t period_us);  // kUnknown if it is none of them
std::int64_t period_us(EnvoyUnit unit);            // 0 for kUnknown

// The numbers on the wire, whatever they are.
struct EnvoyOverride {
  std::uint32_t requests_per_unit = 0;
  std::uint32_t unit = 0;
};

struct EnvoyRequest {
  struct Descriptor {
    std::size_t entries_end = 0;  // those of the next one begin there
    std::optional<EnvoyOverride> limit;
    std::optional<std::uint64_t> hits_addend;  // 0: look without charging
    bool gives_back = false;                   // the hits, instead of being charged them
  };
  std::string_view domain;
  std::uint32_t hits_addend = 0;  // 0 means 1
  std::vector<Descriptor> descriptors;
  std::vector<EnvoyEntry> entries;  // of all descriptors
  std::deque<std::string> made;     // values that are not those of the message; entries point into it
  std::deque<std::vector<Dimension>> fitted;  // dimensions that are not the entries

  void clear();
  // The entries of one descriptor.
  std::span<const EnvoyEntry> entries_of(std::size_t descriptor) const {
    const std::size_t begin = descriptor == 0 ? 0 : descriptors[descriptor - 1].entries_end;
    return {entries.data() + begin, descriptors[descriptor].entries_end - begin};
  }
  // The entries as dimensions, for policies that name them. No dimension has a key that is too long. A value
  // that is too long is counted by its hash: whoever sends such a thing would pass Envoy if it were an error,
  // and pass the limit if it were left out.
  std::span<const Dimension> dimensions_of(std::size_t descriptor) {
    const auto entries_here = entries_of(descriptor);
    for (const EnvoyEntry& entry : entries_here)
      if (entry.name.size() > kNameBytesMax || entry.value.size() > kKeyBytesMax) [[unlikely]]
        return fit(entries_here);
    return entries_here;
  }
  // How much a descriptor charges; nothing: it is not said.
  std::optional<std::uint64_t> hits_of(std::size_t descriptor) const;

 private:
  std::span<const Dimension> fit(std::span<const EnvoyEntry> too_long);
};

// Values come from clients of Envoy, as headers do. What is wrong with them must not make a request fail:
// Envoy lets it pass then. So bytes that are not UTF-8 are replaced.
//
// Each reads a request and refuses what no server would take: an empty domain, no descriptors, one without
// entries, an empty key, an override without a unit, more than there may be (base/envoy_limits.h). The error
// names the field.
Result<void> read_envoy_request(std::string_view message, EnvoyRequest& out);
// proto3 JSON: names as in the .proto file or in camel case. `scratch` gets strings with escapes.
Result<void> read_envoy_json(std::string_view body, std::string& scratch, EnvoyRequest& out);

// The rate that an override asks for. REQUIRES: the request was read without an error.
Rate rate_of(const EnvoyOverride& limit);

// For both readers. REQUIRES: something was read.
Result<void> check_envoy_request(const EnvoyRequest& request);
std::unexpected<Error> too_many_envoy_descriptors();
// REQUIRES: it is the latest descriptor that has too many.
std::unexpected<Error> too_many_envoy_entries(const EnvoyRequest& request);

}  // namespace sluice::doors

#include "doors/envoy/envoy_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/limits/envoy_limits.h"
#include "base/secret/hash.h"
#include "base/text/encode.h"
#include "base/text/utf8.h"
#include "base/time_units.h"
#include "base/try.h"
#include "doors/grpc/grpc_call.h"
#include "net/grpc/protobuf_wire.h"

namespace sluice::doors {
namespace {

using net::WireReader;

struct UnitFacts {
  std::string_view name;
  std::int64_t period_us;
};
constexpr std::array<UnitFacts, 8> kUnits = {{{"UNKNOWN", 0},
                                              {"SECOND", kSecondUs},
                                              {"MINUTE", 60 * kSecondUs},
                                              {"HOUR", 3600 * kSecondUs},
                                              {"DAY", kDayUs},
                                              {"MONTH", 30 * kDayUs},
                                              {"YEAR", 365 * kDayUs},
                                              {"WEEK", 7 * kDayUs}}};
// Weeks occur only in answers.
constexpr auto kLastOverrideUnit = static_cast<std::uint32_t>(EnvoyUnit::kYear);

[[gnu::cold, gnu::noinline]] std::unexpected<Error> malformed() {
  return std::unexpected(malformed_message());
}

std::string in_descriptor(std::size_t i, std::string_view field) {
  return "descriptors[" + std::to_string(i) + "]." + std::string(field);
}

std::unexpected<Error> too_many(std::string field, std::string_view what, std::size_t most) {
  return invalid(std::move(field),
                 "there are more than " + std::to_string(most) + ' ' + std::string(what) + "; send fewer");
}

[[gnu::cold, gnu::noinline]] std::string_view repaired(std::string_view bytes,
                                                       std::deque<std::string>& made) {
  return made.emplace_back(as_utf8(bytes));
}

std::string_view text_of(std::string_view bytes, std::deque<std::string>& made) {
  return net::is_ascii(bytes) || is_utf8(bytes) ? bytes : repaired(bytes, made);
}

// The usual encoding of an entry: the key, then the value, each below 128 bytes and ASCII. Then all bytes are
// ASCII, including tags and lengths, so one test covers all. Returns false for any other encoding.
bool read_usual_entry(std::string_view bytes, EnvoyEntry& out) {
  constexpr char kKeyTag = 1 << 3 | 2, kValueTag = 2 << 3 | 2;
  const auto length_at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  constexpr std::size_t kMarks = 4;
  if (bytes.size() < kMarks || bytes[0] != kKeyTag || !net::is_ascii(bytes)) return false;
  const std::size_t key = length_at(1);
  if (key + kMarks > bytes.size() || bytes[2 + key] != kValueTag) return false;
  const std::size_t value = length_at(3 + key);
  if (key + value + kMarks != bytes.size()) return false;
  out = {bytes.substr(2, key), bytes.substr(4 + key, value)};
  return true;
}

bool read_entry(WireReader reader, EnvoyEntry& out, std::deque<std::string>& made) {
  while (reader.next()) {
    if (reader.field() == 1) out.name = reader.string();
    if (reader.field() == 2) out.value = text_of(reader.bytes(), made);
  }
  return reader.ok();
}

bool read_override(WireReader reader, EnvoyOverride& out) {
  while (reader.next()) {
    if (reader.field() == 1) out.requests_per_unit = reader.uint32();
    if (reader.field() == 2) out.unit = reader.uint32();
  }
  return reader.ok();
}

// google.protobuf.UInt64Value.
bool read_wrapped(WireReader reader, std::uint64_t& out) {
  while (reader.next())
    if (reader.field() == 1) out = reader.uint64();
  return reader.ok();
}

Result<void> read_descriptor(WireReader reader, EnvoyRequest& out) {
  EnvoyRequest::Descriptor& descriptor = out.descriptors.emplace_back();
  const std::size_t first = out.entries.size();
  while (reader.next()) {
    bool good = true;
    switch (reader.field()) {
      case 1:
        if (out.entries.size() - first == kEnvoyEntriesMax) return too_many_envoy_entries(out);
        if (EnvoyEntry& entry = out.entries.emplace_back(); !read_usual_entry(reader.bytes(), entry))
          good = read_entry(reader.message(), entry, out.made);
        break;
      case 2:
        if (!descriptor.limit) descriptor.limit.emplace();
        good = read_override(reader.message(), *descriptor.limit);
        break;
      case 3:
        if (!descriptor.hits_addend) descriptor.hits_addend = 0;
        good = read_wrapped(reader.message(), *descriptor.hits_addend);
        break;
      case 4:
        descriptor.gives_back = reader.uint64() != 0;
        break;
      default:
        break;
    }
    if (!good) return malformed();
  }
  if (!reader.ok()) return malformed();
  descriptor.entries_end = out.entries.size();
  return {};
}

// The same on every node.
std::string value_hash(std::string_view value) {
  static const KeyHasher hasher = KeyHasher::from_text("values of descriptors");
  const auto hash = std::bit_cast<std::array<char, sizeof(KeyHash)>>(hasher(value));
  return to_hex({hash.data(), hash.size()});
}

}  // namespace

std::string_view to_string(EnvoyUnit unit) { return kUnits[static_cast<std::size_t>(unit)].name; }
std::int64_t period_us(EnvoyUnit unit) { return kUnits[static_cast<std::size_t>(unit)].period_us; }

EnvoyUnit unit_of_period(std::int64_t period_us) {
  const auto* const found = std::ranges::find(kUnits, period_us, &UnitFacts::period_us);
  return found == kUnits.end() ? EnvoyUnit::kUnknown : static_cast<EnvoyUnit>(found - kUnits.begin());
}

void EnvoyRequest::clear() {
  domain = {};
  hits_addend = 0;
  descriptors.clear();
  entries.clear();
  if (!made.empty()) made.clear();
  if (!fitted.empty()) fitted.clear();
}

[[gnu::cold, gnu::noinline]] std::span<const Dimension> EnvoyRequest::fit(
    std::span<const EnvoyEntry> too_long) {
  std::vector<Dimension>& dimensions = fitted.emplace_back();
  for (const auto& [name, value] : too_long) {
    if (name.size() > kNameBytesMax) continue;
    Dimension& dimension = dimensions.emplace_back(name, value);
    if (value.size() <= kKeyBytesMax) continue;
    dimension.value = made.emplace_back("hash:" + value_hash(value));
  }
  return dimensions;
}

namespace {

// No encoded value contains this.
constexpr std::string_view kHashMark = "%~";
constexpr std::size_t kHashBytes = kHashMark.size() + 2 * sizeof(KeyHash);

[[gnu::cold, gnu::noinline]] std::string fitting_resource(std::span<const EnvoyEntry> entries,
                                                          std::string_view whole) {
  const std::string keys = envoy_resource_keys(entries);
  std::vector<std::string> values;
  for (const EnvoyEntry& entry : entries)
    values.push_back(entry.value.empty() ? "%" : envoy_encoded(entry.value));
  for (std::size_t size = whole.size(); size > kResourceBytesMax;) {
    std::string& longest = *std::ranges::max_element(values, {}, &std::string::size);
    if (longest.size() <= kHashBytes) return fmt::format("/{}{}", kHashMark, value_hash(whole));  // the keys
    const std::size_t excess = size - kResourceBytesMax + kHashBytes;
    const std::size_t before = longest.size();
    const std::string hash = value_hash(longest);
    longest.resize(before - std::min(before, excess));
    longest.append(kHashMark).append(hash);
    size -= before - longest.size();
  }
  return fmt::format("{}/{}", keys, fmt::join(values, "/"));
}

}  // namespace

void append_fitting_resource(std::span<const EnvoyEntry> entries, std::string& out) {
  const std::size_t begin = out.size();
  append_envoy_resource(entries, out);
  if (out.size() - begin <= kResourceBytesMax) [[likely]]
    return;
  const std::string fitting = fitting_resource(entries, std::string_view(out).substr(begin));
  out.replace(begin, out.size() - begin, fitting);
}

std::optional<std::uint64_t> EnvoyRequest::hits_of(std::size_t descriptor) const {
  if (descriptors[descriptor].hits_addend) return descriptors[descriptor].hits_addend;
  return hits_addend == 0 ? std::nullopt : std::optional<std::uint64_t>(hits_addend);
}

Rate rate_of(const EnvoyOverride& limit) {
  return {std::min<std::int64_t>(limit.requests_per_unit, kRateMax),
          period_us(static_cast<EnvoyUnit>(limit.unit))};
}

[[gnu::cold, gnu::noinline]] std::unexpected<Error> too_many_envoy_descriptors() {
  return too_many("descriptors", "descriptors", kEnvoyDescriptorsMax);
}

[[gnu::cold, gnu::noinline]] std::unexpected<Error> too_many_envoy_entries(const EnvoyRequest& request) {
  return too_many(in_descriptor(request.descriptors.size() - 1, "entries"), "entries", kEnvoyEntriesMax);
}

[[gnu::noinline]] Result<void> check_envoy_request(const EnvoyRequest& request) {
  if (request.domain.empty()) return invalid("domain", "domain is empty; name the domain of the limits");
  if (request.domain.size() > kKeyBytesMax)
    return invalid("domain", "domain is " + std::to_string(request.domain.size()) + " bytes long; at most " +
                                 std::to_string(kKeyBytesMax) + " are allowed");
  if (request.descriptors.empty())
    return invalid("descriptors", "descriptors is empty; at least one is needed");
  for (std::size_t i = 0; i < request.descriptors.size(); ++i) {
    const auto entries = request.entries_of(i);
    if (entries.empty()) return invalid(in_descriptor(i, "entries"), "a descriptor needs at least one entry");
    if (std::ranges::any_of(entries, [](const EnvoyEntry& entry) { return entry.name.empty(); }))
      return invalid(in_descriptor(i, "entries"), "an entry needs a key");
    if (const auto& limit = request.descriptors[i].limit;
        limit && (limit->unit == 0 || limit->unit > kLastOverrideUnit))
      return invalid(in_descriptor(i, "limit.unit"),
                     "unit " + std::to_string(limit->unit) + " is not known; use SECOND to YEAR (1 to 6)");
  }
  return {};
}

// Flattened: a request is a dozen small fields, and a function call for each would cost more than reading it.
[[gnu::flatten]] Result<void> read_envoy_request(std::string_view message, EnvoyRequest& out) {
  out.clear();
  WireReader reader(message);
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        out.domain = reader.string();
        break;
      case 2:
        if (out.descriptors.size() == kEnvoyDescriptorsMax) return too_many_envoy_descriptors();
        SLUICE_TRY(read_descriptor(reader.message(), out));
        break;
      case 3:
        out.hits_addend = reader.uint32();
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return malformed();
  return check_envoy_request(out);
}

}  // namespace sluice::doors

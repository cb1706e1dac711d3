// Reads a RateLimitRequest from JSON.
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/limits/envoy_limits.h"
#include "base/text/json_reader.h"
#include "doors/envoy/envoy_request.h"
#include "doors/http/fields/check_field.h"

namespace sluice::doors {
namespace {

using Kind = JsonReader::Kind;

// All members of the messages.
enum class Member : std::uint8_t {
  kDomain,
  kDescriptors,
  kHitsAddend,
  kEntries,
  kLimit,
  kIsNegativeHits,
  kKey,
  kValue,
  kRequestsPerUnit,
  kUnit,
  kUnknown
};

Member member_of(std::string_view name) {
  using Named = std::pair<std::string_view, Member>;
  constexpr std::array kNames = {Named{"domain", Member::kDomain},
                                 Named{"descriptors", Member::kDescriptors},
                                 Named{"hits_addend", Member::kHitsAddend},
                                 Named{"hitsAddend", Member::kHitsAddend},
                                 Named{"entries", Member::kEntries},
                                 Named{"limit", Member::kLimit},
                                 Named{"is_negative_hits", Member::kIsNegativeHits},
                                 Named{"isNegativeHits", Member::kIsNegativeHits},
                                 Named{"key", Member::kKey},
                                 Named{"value", Member::kValue},
                                 Named{"requests_per_unit", Member::kRequestsPerUnit},
                                 Named{"requestsPerUnit", Member::kRequestsPerUnit},
                                 Named{"unit", Member::kUnit}};
  for (const auto& [known, member] : kNames)
    if (known == name) return member;
  return Member::kUnknown;
}

// Reads one request, and lives only that long. The reader finds JSON syntax errors; invalid content is kept
// in problem_. Either ends the reading.
class EnvoyJson {
 public:
  EnvoyJson(std::string_view body, std::string& scratch, EnvoyRequest& out)
      : reader_(body, scratch), out_(out) {}

  Result<void> read() {
    object("", [&](Member member, std::string_view name) {
      if (member == Member::kDomain) return text("domain", out_.domain);
      if (member == Member::kHitsAddend) return number("hits_addend", out_.hits_addend);
      if (member == Member::kDescriptors) return descriptors();
      unknown(name);
    });
    if (problem_) return std::unexpected(std::move(*problem_));
    if (!reader_.finish()) return invalid("", reader_.error());
    return check_envoy_request(out_);
  }

 private:
  void refuse(std::string_view field, std::string message) {
    if (!problem_) problem_ = Error{ErrorCode::kInvalidArgument, std::move(message), std::string(field)};
  }
  void unknown(std::string_view name) {
    refuse(name, "\"" + std::string(name) + "\" is not a field of this message");
    reader_.skip();
  }

  // A JSON null means that the field is absent.
  bool is(Kind kind, std::string_view field, std::string_view expected) {
    const Kind found = reader_.kind();
    if (found == kind) return true;
    if (found != Kind::kNull && found != Kind::kNothing)
      refuse(field, std::string(field) + " must be " + std::string(expected));
    reader_.skip();
    return false;
  }

  // `read` gets each member and its name as written. A duplicate, under either of its names, is an error:
  // other readers of the same bytes may have taken the other value.
  template <class Read>
  void object(std::string_view field, const Read& read) {
    if (reader_.kind() != Kind::kObject) {
      refuse(field, field.empty() ? "the body must be an object" : std::string(field) + " must be an object");
      return reader_.skip();
    }
    reader_.enter_object();
    std::uint32_t seen = 0;
    for (std::string_view name; !problem_ && reader_.next_member(name);) {
      const Member member = member_of(name);
      const std::uint32_t bit = 1u << static_cast<unsigned>(member);
      if (member != Member::kUnknown && (seen & bit))
        return void(problem_ = given_twice(std::string(name)).error());
      seen |= bit;
      read(member, name);
    }
  }

  template <class Element>
  void array(std::string_view field, const Element& element) {
    if (!is(Kind::kArray, field, "an array")) return;
    reader_.enter_array();
    while (!problem_ && reader_.next_element()) element();
  }

  void text(std::string_view field, std::string_view& out) {
    if (is(Kind::kString, field, "a string")) out = reader_.string();
  }

  // proto3 JSON allows numbers in quotes, and writes 64-bit ones that way.
  template <class Number>
  void number(std::string_view field, Number& out) {
    const Kind kind = reader_.kind();
    if (kind == Kind::kNull) return reader_.skip();
    std::string_view digits;
    if (kind == Kind::kNumber) digits = reader_.plain();
    if (kind == Kind::kString) digits = reader_.string();
    if (digits.empty()) reader_.skip();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
      refuse(field, std::string(field) + " must be a whole number that is not negative and not too large");
  }

  void descriptors() {
    array("descriptors", [&] {
      if (out_.descriptors.size() == kEnvoyDescriptorsMax)
        return void(problem_ = too_many_envoy_descriptors().error());
      out_.descriptors.emplace_back();
      object("descriptors", [&](Member member, std::string_view name) { descriptor_field(member, name); });
      out_.descriptors.back().entries_end = out_.entries.size();
    });
  }

  void descriptor_field(Member member, std::string_view name) {
    EnvoyRequest::Descriptor& descriptor = out_.descriptors.back();
    if (member == Member::kEntries) return entries();
    if (member == Member::kLimit) {
      if (reader_.kind() == Kind::kNull) return reader_.skip();
      descriptor.limit.emplace();
      return object("limit", [&](Member inner, std::string_view inner_name) {
        override_field(inner, inner_name, descriptor);
      });
    }
    if (member == Member::kHitsAddend) {
      if (reader_.kind() == Kind::kNull) return reader_.skip();
      return number("hits_addend", descriptor.hits_addend.emplace());
    }
    if (member == Member::kIsNegativeHits) {
      if (is(Kind::kBoolean, "is_negative_hits", "true or false"))
        descriptor.gives_back = reader_.plain() == "true";
      return;
    }
    unknown(name);
  }

  void entries() {
    const std::size_t first = out_.entries.size();
    array("entries", [&] {
      if (out_.entries.size() - first == kEnvoyEntriesMax)
        return void(problem_ = too_many_envoy_entries(out_).error());
      EnvoyEntry& entry = out_.entries.emplace_back();
      object("entries", [&](Member member, std::string_view name) {
        if (member == Member::kKey) return text("key", entry.name);
        if (member == Member::kValue) return text("value", entry.value);
        unknown(name);
      });
    });
  }

  void override_field(Member member, std::string_view name, EnvoyRequest::Descriptor& descriptor) {
    if (member == Member::kRequestsPerUnit)
      return number("requests_per_unit", descriptor.limit->requests_per_unit);
    if (member != Member::kUnit) return unknown(name);
    if (reader_.kind() != Kind::kString) return number("unit", descriptor.limit->unit);
    const std::string_view word = reader_.string();
    for (auto unit = EnvoyUnit::kUnknown; unit <= EnvoyUnit::kYear;
         unit = static_cast<EnvoyUnit>(static_cast<unsigned>(unit) + 1))
      if (word == to_string(unit)) return void(descriptor.limit->unit = static_cast<std::uint32_t>(unit));
    refuse("unit",
           "\"" + std::string(word) + "\" is not a unit; use SECOND, MINUTE, HOUR, DAY, MONTH or YEAR");
  }

  JsonReader reader_;
  EnvoyRequest& out_;
  std::optional<Error> problem_;
};

}  // namespace

Result<void> read_envoy_json(std::string_view body, std::string& scratch, EnvoyRequest& out) {
  out.clear();
  return EnvoyJson(body, scratch, out).read();
}

}  // namespace sluice::doors

// RateLimitRequest as JSON.
#include <charconv>
#include <optional>

#include "base/envoy_limits.h"
#include "base/json_reader.h"
#include "doors/envoy_request.h"

namespace sluice::doors {
namespace {

using Kind = JsonReader::Kind;

// Reads one request; lives as long as that takes. What is wrong with the JSON itself is found by the reader,
// what is wrong with its meaning is kept in problem_, and either ends the walk.
class EnvoyJson {
 public:
  EnvoyJson(std::string_view body, std::string& scratch, EnvoyRequest& out)
      : reader_(body, scratch), out_(out) {}

  Result<void> read() {
    object("", [&](std::string_view name) {
      if (name == "domain") return text("domain", out_.domain);
      if (name == "hits_addend" || name == "hitsAddend") return number("hits_addend", out_.hits_addend);
      if (name == "descriptors") return descriptors();
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
    refuse(name, "\"" + std::string(name) + "\" is no field of this message");
    reader_.skip();
  }

  // JSON's null is the field left out.
  bool is(Kind kind, std::string_view field, std::string_view expected) {
    const Kind found = reader_.kind();
    if (found == kind) return true;
    if (found != Kind::kNull && found != Kind::kNothing)
      refuse(field, std::string(field) + " must be " + std::string(expected));
    reader_.skip();
    return false;
  }

  template <class Member>
  void object(std::string_view field, const Member& member) {
    if (reader_.kind() != Kind::kObject) {
      refuse(field, field.empty() ? "the body must be an object" : std::string(field) + " must be an object");
      return reader_.skip();
    }
    reader_.enter_object();
    for (std::string_view name; !problem_ && reader_.next_member(name);) member(name);
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

  // proto3 JSON allows numbers in quotes, and writes 64-bit ones so.
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
      refuse(field, std::string(field) + " must be a whole number from 0 on that is not too large");
  }

  void descriptors() {
    array("descriptors", [&] {
      if (out_.descriptors.size() == kEnvoyDescriptorsMax)
        return void(problem_ = too_many_envoy_descriptors().error());
      out_.descriptors.emplace_back();
      object("descriptors", [&](std::string_view name) { descriptor_field(name); });
      out_.descriptors.back().entries_end = out_.entries.size();
    });
  }

  void descriptor_field(std::string_view name) {
    EnvoyRequest::Descriptor& descriptor = out_.descriptors.back();
    if (name == "entries") return entries();
    if (name == "limit") {
      if (reader_.kind() == Kind::kNull) return reader_.skip();
      descriptor.limit.emplace();
      return object("limit", [&](std::string_view member) { override_field(member, descriptor); });
    }
    if (name == "hits_addend" || name == "hitsAddend") {
      if (reader_.kind() == Kind::kNull) return reader_.skip();
      return number("hits_addend", descriptor.hits_addend.emplace());
    }
    if (name == "is_negative_hits" || name == "isNegativeHits") {
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
      object("entries", [&](std::string_view name) {
        if (name == "key") return text("key", entry.name);
        if (name == "value") return text("value", entry.value);
        unknown(name);
      });
    });
  }

  void override_field(std::string_view name, EnvoyRequest::Descriptor& descriptor) {
    if (name == "requests_per_unit" || name == "requestsPerUnit")
      return number("requests_per_unit", descriptor.limit->requests_per_unit);
    if (name != "unit") return unknown(name);
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

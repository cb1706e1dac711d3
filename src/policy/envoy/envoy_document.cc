#include "policy/envoy/envoy_document.h"

#include <array>
#include <set>
#include <utility>

#include "base/limits.h"
#include "base/limits/envoy_limits.h"
#include "base/text/json_reader.h"
#include "base/time_units.h"
#include "document/fields.h"
#include "document/yaml_words.h"

namespace sluice {
namespace {

constexpr std::int64_t kRequestsMax = 4'294'967'295;  // as in envoyproxy/ratelimit

// Lengths as in envoyproxy/ratelimit. Its windows start where ours do: at multiples since the Unix epoch.
constexpr std::array<std::pair<std::string_view, std::int64_t>, 7> kUnits = {{{"second", kSecondUs},
                                                                              {"minute", 60 * kSecondUs},
                                                                              {"hour", 3600 * kSecondUs},
                                                                              {"day", kDayUs},
                                                                              {"week", 7 * kDayUs},
                                                                              {"month", 30 * kDayUs},
                                                                              {"year", 365 * kDayUs}}};

struct Unit {
  std::string name;
  std::int64_t us = 0;
};

Literal<Unit> parse_unit(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const auto& [name, us] : kUnits)
    if (name == lower) return Unit{lower, us};
  return std::unexpected(shown(text) + " is not a unit; use second, minute, hour, day, week, month or year");
}

// True: denied requests are charged, too.
Literal<bool> parse_compatibility(std::string_view text) {
  if (text == "envoy") return true;
  return std::unexpected(shown(text) + " is not a known value; the only one is envoy");
}

// Unquoted words become texts: only numbers and booleans have another meaning without quotes.
DocumentNode with_quoted_words(DocumentNode node) {
  if (node.kind == DocumentNode::Kind::kText && !node.quoted) {
    std::string unused_scratch;
    JsonReader number(node.text, unused_scratch);
    const bool is_number = number.kind() == JsonReader::Kind::kNumber && (number.skip(), number.finish());
    if (const auto truth = yaml_truth(node.text))
      node.text = *truth ? "true" : "false";
    else if (const auto integer = yaml_integer(node.text))
      node.text = std::to_string(*integer);
    else
      node.quoted = !is_number;
  }
  for (DocumentNode& item : node.items) item = with_quoted_words(std::move(item));
  return node;
}

// Reads one file. Used once.
class EnvoyReader {
 public:
  EnvoyReader(const std::string& file, Problems& problems, std::vector<Problem>& warnings)
      : file_(file), problems_(problems), warnings_(warnings) {}

  std::optional<EnvoyDomain> read(const DocumentNode& tree) {
    constexpr std::array<std::string_view, 3> kNames = {"domain", "descriptors", "compatibility"};
    const std::size_t problems_before = problems_.count();
    const Place top{file_, problems_};
    const Fields fields(tree, top, kNames);
    if (!fields.is_map()) return std::nullopt;
    EnvoyDomain domain{.name = word(tree, "domain", top), .file = file_, .line = tree.line};
    if (domain.name == "*")
      fields.report("domain", "must not be \"*\", which would match every domain; give the domain a name");
    else if (const auto fits = parse_free_text(domain.name, kNameBytesMax); !fits)
      fields.report("domain", fits.error());
    if (fields.has("compatibility"))
      domain.counts_denied = fields.text("compatibility", parse_compatibility).value_or(false);
    if (const DocumentNode* list = given(tree, "descriptors"))
      domain.descriptors = read_list(*list, top.field("descriptors"));
    if (problems_.count() > problems_before) return std::nullopt;
    return domain;
  }

 private:
  // Null if it is absent or blank; the original does not distinguish these.
  static const DocumentNode* given(const DocumentNode& map, std::string_view name) {
    const DocumentNode* node = map.find(name);
    return node && node->kind != DocumentNode::Kind::kNull ? node : nullptr;
  }

  // Unquoted numbers and booleans count as texts, as in the original; absent and blank are empty.
  static std::string word(const DocumentNode& map, std::string_view name, const Place& place) {
    const DocumentNode* node = given(map, name);
    if (!node) return {};
    if (node->kind == DocumentNode::Kind::kText) return node->text;
    place.field(name).report(node->line, "must be a text");
    return {};
  }

  // Absent and blank are false.
  static bool flag(const DocumentNode& map, std::string_view name, const Place& place) {
    const DocumentNode* node = given(map, name);
    if (!node) return false;
    if (node->kind == DocumentNode::Kind::kText && !node->quoted)
      if (const auto truth = yaml_truth(node->text)) return *truth;
    place.field(name).report(node->line, "must be true or false");
    return false;
  }

  static std::optional<std::int64_t> requests(const Fields& fields, const Place& place) {
    const DocumentNode* node = fields.node("requests_per_unit");
    if (!node) return std::nullopt;
    DocumentNode number = *node;
    if (const auto value = number.quoted ? std::nullopt : yaml_integer(number.text))
      number.text = std::to_string(*value);
    return to_integer(number, place.field("requests_per_unit"), 0, kRequestsMax);
  }

  void warn(const DocumentNode& map, const Place& place, std::string_view name, std::string message) {
    if (!given(map, name)) return;
    warnings_.push_back({file_, map.find(name)->line, place.field(name).path(), std::move(message)});
  }

  std::vector<EnvoyDescriptor> read_list(const DocumentNode& list, const Place& place) {
    std::vector<EnvoyDescriptor> descriptors;
    if (!is_list(list, place)) return descriptors;
    std::set<std::pair<std::string, std::string>> taken;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const Place here = place.item(i);
      EnvoyDescriptor one = read_descriptor(list.items[i], here);
      if (!taken.emplace(one.key, one.value).second)
        here.report(one.line, "the key " + shown(one.key) +
                                  (one.value.empty() ? "" : " with the value " + shown(one.value)) +
                                  " is listed twice; merge both into one entry");
      if (++count_ > kPoliciesMax) {
        place.report(one.line, "there are more than " + std::to_string(kPoliciesMax) + " descriptors");
        break;
      }
      descriptors.push_back(std::move(one));
    }
    return descriptors;
  }

  EnvoyDescriptor read_descriptor(const DocumentNode& node, const Place& place) {
    constexpr std::array<std::string_view, 10> kNames = {
        "key",        "value",           "rate_limit",      "descriptors", "shadow_mode",
        "quota_mode", "detailed_metric", "value_to_metric", "metadata",    "share_threshold"};
    EnvoyDescriptor descriptor{.key = {}, .value = {}, .line = node.line};
    const Fields fields(node, place, kNames);
    if (!fields.is_map()) return descriptor;
    descriptor.key = word(node, "key", place);
    if (descriptor.key.empty())
      place.field("key").report(node.line, "is missing; every descriptor has a key");
    descriptor.value = word(node, "value", place);
    descriptor.shadow = flag(node, "shadow_mode", place);
    descriptor.shared = flag(node, "share_threshold", place);
    if (descriptor.shared && !descriptor.value.contains('*'))
      fields.report("share_threshold",
                    "needs a value with a wildcard (*): it makes the matching values share a counter");
    if (const DocumentNode* limit = given(node, "rate_limit"))
      descriptor.limit = read_limit(*limit, place.field("rate_limit"));
    if (const DocumentNode* list = given(node, "descriptors"))
      descriptor.children = read_list(*list, place.field("descriptors"));
    descriptor.quota = flag(node, "quota_mode", place);
    if (descriptor.quota)
      warn(node, place, "quota_mode",
           "is not supported: this limit denies on its own, whatever the other limits of the request say");
    for (const std::string_view name : {"detailed_metric", "value_to_metric"})
      if (flag(node, name, place))
        warn(node, place, name, "is ignored: metrics carry the policy id, not values from requests");
    if (const DocumentNode* metadata = given(node, "metadata");
        metadata && is_map(*metadata, place.field("metadata")))
      descriptor.metadata = with_quoted_words(*metadata);
    warn(node, place, "metadata", "is ignored: answers cannot carry it");
    return descriptor;
  }

  std::optional<EnvoyRate> read_limit(const DocumentNode& node, const Place& place) {
    constexpr std::array<std::string_view, 5> kNames = {"unit", "requests_per_unit", "unlimited", "name",
                                                        "replaces"};
    const Fields fields(node, place, kNames);
    if (!fields.is_map()) return std::nullopt;
    EnvoyRate limit{.name = word(node, "name", place), .line = node.line};
    limit.unlimited = flag(node, "unlimited", place);
    if (const DocumentNode* list = given(node, "replaces"))
      limit.replaces = read_replaces(*list, place.field("replaces"), limit.name);
    warn(node, place, "replaces", "is ignored: the limits that it names still apply when a request has both");
    if (limit.unlimited) {
      if (given(node, "unit")) fields.report("unit", "cannot be combined with unlimited; remove one of them");
      return limit;
    }
    fields.missing("unit");
    fields.missing("requests_per_unit");
    const auto unit = fields.text("unit", parse_unit);
    const auto count = requests(fields, place);
    if (!unit || !count) return std::nullopt;
    limit.unit = unit->name;
    limit.rate = {std::min(*count, kRateMax), unit->us};
    if (*count > kRateMax)
      warn(node, place, "requests_per_unit",
           "exceeds the maximum of a limit; it is reduced to " + std::to_string(kRateMax));
    return limit;
  }

  static std::vector<std::string> read_replaces(const DocumentNode& list, const Place& place,
                                                const std::string& own_name) {
    constexpr std::array<std::string_view, 1> kNames = {"name"};
    std::vector<std::string> names;
    if (!is_list(list, place)) return names;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const Place here = place.item(i);
      const Fields fields(list.items[i], here, kNames);
      if (!fields.is_map()) continue;
      std::string name = word(list.items[i], "name", here);
      if (name.empty())
        here.report(fields.line(), "needs the name of the limit to replace");
      else if (name == own_name)
        here.report(fields.line(), "is the limit's own name; name another");
      names.push_back(std::move(name));
    }
    return names;
  }

  const std::string& file_;
  Problems& problems_;
  std::vector<Problem>& warnings_;
  std::size_t count_ = 0;
};

}  // namespace

std::optional<EnvoyDomain> parse_envoy_document(std::string_view text, const std::string& file,
                                                Problems& problems, std::vector<Problem>& warnings) {
  const auto tree = parse_document_tree(text, file, problems, kEnvoyDocumentDepthMax);
  if (!tree) return std::nullopt;
  return read_envoy_document(*tree, file, problems, warnings);
}

std::optional<EnvoyDomain> read_envoy_document(const DocumentNode& tree, const std::string& file,
                                               Problems& problems, std::vector<Problem>& warnings) {
  return EnvoyReader(file, problems, warnings).read(tree);
}

bool is_envoy_document(const DocumentNode& tree) { return tree.find("domain") != nullptr; }

Problem same_envoy_domain(const EnvoyDomain& domain, const std::string& other_file) {
  return {domain.file, domain.line, "domain",
          shown(domain.name) + " is also the domain of " + other_file + "; a domain must be in one file"};
}

std::string EnvoyRate::policy_limit_name() const { return parse_name(name) ? name : unit; }

}  // namespace sluice

#include "policy/envoy/envoy_tree.h"

#include <map>
#include <optional>

#include "policy/envoy/envoy_names.h"

namespace sluice {
namespace {

using Kind = EnvoyLevel::Kind;

std::size_t limits_below(const std::vector<EnvoyDescriptor>& descriptors) {
  std::size_t count = 0;
  for (const EnvoyDescriptor& each : descriptors)
    count += each.limit.has_value() + limits_below(each.children);
  return count;
}

// No value: a wildcard that patterns do not support.
std::optional<EnvoyLevel> level_of(std::string_view value) {
  if (value.empty()) return EnvoyLevel{};
  const std::size_t star = value.find('*');
  if (star == value.npos) return EnvoyLevel{Kind::kExact, envoy_encoded(value)};
  if (star != value.size() - 1) return std::nullopt;
  return EnvoyLevel{Kind::kPrefix, envoy_encoded(value.substr(0, star))};
}

// Reads the descriptors of one list.
class SiblingReader {
 public:
  SiblingReader(const std::string& file, std::vector<Problem>& warnings, std::size_t& left_out)
      : file_(file), warnings_(warnings), left_out_(left_out) {}

  void add(const EnvoyDescriptor& descriptor) {
    auto level = level_of(descriptor.value);
    if (!level)
      return leave_out(descriptor, descriptor.limit.has_value() + limits_below(descriptor.children),
                       "a pattern allows a star only at the end of a value");
    auto& wildcards = wildcards_[descriptor.key];
    if (level->kind == Kind::kPrefix)
      for (const auto& [prefix, line] : wildcards)
        if (level->text.starts_with(prefix)) return never_reached(descriptor, line);
    if (level->kind == Kind::kPrefix) wildcards.emplace_back(level->text, descriptor.line);
    EnvoyNode node{&descriptor, *level, {}};
    if (level->kind == Kind::kPrefix && !level->text.empty() && !descriptor.children.empty())
      leave_out(descriptor.children.front(), limits_below(descriptor.children),
                "descriptors below a wildcard with text before the star are not supported");
    else
      node.children = usable_envoy_nodes(descriptor.children, file_, warnings_, left_out_);
    if (level->text.empty()) node.level.kind = Kind::kAny;
    nodes_.push_back(std::move(node));
  }

  std::vector<EnvoyNode> take() {
    // A lone star comes before the key alone, wherever it is in the list.
    std::erase_if(nodes_, [&](const EnvoyNode& node) {
      if (!node.source->value.empty()) return false;
      for (const auto& [prefix, line] : wildcards_[node.source->key]) {
        if (!prefix.empty()) continue;
        never_reached(*node.source, line);
        return true;
      }
      return false;
    });
    return std::move(nodes_);
  }

 private:
  void leave_out(const EnvoyDescriptor& descriptor, std::size_t limits, const std::string& why) {
    left_out_ += limits;
    warnings_.push_back({file_, descriptor.line, "",
                         "the descriptor " + shown_name(descriptor) + " is dropped, together with " +
                             std::to_string(limits) + (limits == 1 ? " limit: " : " limits: ") + why});
  }

  void never_reached(const EnvoyDescriptor& descriptor, int line) {
    warnings_.push_back({file_, descriptor.line, "",
                         "the descriptor " + shown_name(descriptor) +
                             " is dropped: no request can reach it, because the wildcard on line " +
                             std::to_string(line) + " comes first"});
  }

  static std::string shown_name(const EnvoyDescriptor& descriptor) {
    return '"' + descriptor.key + (descriptor.value.empty() ? "" : "=" + descriptor.value) + '"';
  }

  const std::string& file_;
  std::vector<Problem>& warnings_;
  std::size_t& left_out_;
  std::vector<EnvoyNode> nodes_;
  std::map<std::string, std::vector<std::pair<std::string, int>>> wildcards_;  // by key: prefix and line
};

}  // namespace

bool EnvoyLevel::overlaps(const EnvoyLevel& other) const {
  if (kind == Kind::kAny || other.kind == Kind::kAny) return true;
  if (kind == Kind::kExact && other.kind == Kind::kExact) return text == other.text;
  if (kind == Kind::kExact) return text.starts_with(other.text);
  if (other.kind == Kind::kExact) return other.text.starts_with(text);
  return text.starts_with(other.text) || other.text.starts_with(text);
}

bool EnvoyLevel::before(const EnvoyLevel& other) const {
  return kind != other.kind ? kind < other.kind : text.size() > other.text.size();
}

std::vector<EnvoyNode> usable_envoy_nodes(const std::vector<EnvoyDescriptor>& descriptors,
                                          const std::string& file, std::vector<Problem>& warnings,
                                          std::size_t& left_out) {
  SiblingReader siblings(file, warnings, left_out);
  for (const EnvoyDescriptor& each : descriptors) siblings.add(each);
  return siblings.take();
}

}  // namespace sluice

#include "policy/matching/pattern.h"

#include <algorithm>

#include "base/limits.h"

namespace sluice {
namespace {

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0;;) {
    const std::size_t slash = text.find('/', start);
    parts.push_back(text.substr(start, slash - start));
    if (slash == std::string_view::npos) return parts;
    start = slash + 1;
  }
}

bool is_parameter(std::string_view segment) {
  return segment.size() > 2 && segment.starts_with('{') && segment.ends_with('}') &&
         segment.substr(1, segment.size() - 2).find_first_of("{}*") == std::string_view::npos;
}

std::unexpected<std::string> bad(std::string_view text, std::string_view why) {
  return std::unexpected('"' + std::string(text) + "\" is not a resource pattern: " + std::string(why));
}

}  // namespace

std::string Pattern::canonical() const {
  std::string text;
  for (const auto& segment : segments) text.append(segment ? *segment : "{}").append("/");
  if (kind == Kind::kPrefix) return text.append(last_prefix).append("*");
  if (!text.empty()) text.pop_back();
  return text;
}

std::expected<Pattern, std::string> parse_pattern(std::string_view text) {
  Pattern pattern;
  if (text.empty() || text == "*") return pattern;

  auto parts = split(text);
  pattern.kind = Pattern::Kind::kExact;
  if (text.ends_with('*')) {
    pattern.kind = Pattern::Kind::kPrefix;
    pattern.last_prefix = parts.back().substr(0, parts.back().size() - 1);
    if (pattern.last_prefix.find_first_of("{}*") != std::string::npos)
      return bad(text, "only plain text is allowed before a star at the end");
    parts.pop_back();
  }
  std::size_t wildcards = 0;
  for (const std::string_view part : parts) {
    if (part == "*" || is_parameter(part)) {
      if (++wildcards > kPatternWildcardsMax)
        return bad(text, "it has more than " + std::to_string(kPatternWildcardsMax) + " parameters");
      if (pattern.kind == Pattern::Kind::kExact) pattern.kind = Pattern::Kind::kSegments;
      pattern.segments.emplace_back(std::nullopt);
    } else if (part.find_first_of("{}*") != std::string_view::npos) {
      return bad(text, "* and {name} must be whole segments between slashes");
    } else {
      pattern.segments.emplace_back(part);
    }
  }
  return pattern;
}

}  // namespace sluice

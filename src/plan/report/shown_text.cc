#include "plan/report/shown_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "base/secret/hash.h"
#include "base/text/utf8.h"

namespace sluice::plan {

std::string presentable(std::string_view text) {
  std::string out;
  while (!text.empty() && out.size() < kPlanLabelBytesMax) {
    const std::size_t size = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    // C1 controls are two bytes, and can move a terminal's cursor just like C0.
    const bool control = size == 1 ? first < 0x20 || first == 0x7f
                                   : size == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (size == 0 || control)
      out += '?';
    else
      out += text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  if (!text.empty()) out += "…";
  return out;
}

std::string masked(std::string_view secret) {
  constexpr std::size_t kShown = 4;
  const KeyHash hash = KeyHasher::from_text("sluice plan: masked")(secret);
  // In a short secret, four characters would be most of it.
  const std::string_view begin = secret.size() >= 4 * kShown ? secret.substr(0, kShown) : std::string_view();
  return fmt::format("{}…{:08x}", presentable(begin), hash.low >> 32);
}

std::string percentage(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "–";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (part == 0) return "0 %";
  if (percent < 0.01) return "< 0.01 %";
  return percent < 1 ? fmt::format("{:.2f} %", percent) : fmt::format("{:.1f} %", percent);
}

}  // namespace sluice::plan

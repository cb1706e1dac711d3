#include "plan/report/shown_text.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "base/secret/hash.h"
#include "base/text/printable.h"

namespace sluice::plan {

std::string presentable(std::string_view text) { return printable(text, kPlanLabelBytesMax); }

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

#include "cli/admin/expiry.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/time_units.h"
#include "cli/command.h"
#include "document/literals.h"

namespace sluice::cli {

std::string instant_from(std::string_view option, const std::string& text) {
  if (const auto duration_us = parse_duration_us(text)) {
    const std::int64_t now_us = WallClock().now_us();
    if (*duration_us > kExactMax - now_us)
      throw CommandError(fmt::format("{}: {} is too long", option, shown(text)));
    return instant_text((now_us + *duration_us) / kSecondUs * kSecondUs);
  }
  if (const auto instant_us = parse_instant_us(text)) return instant_text(*instant_us);
  throw CommandError(
      fmt::format("{}: {} is neither a duration, such as 30d, nor a time, such as 2027-01-01T00:00:00Z",
                  option, shown(text)));
}

}  // namespace sluice::cli

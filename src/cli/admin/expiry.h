#pragma once

#include <string>
#include <string_view>

namespace sluice::cli {

// The instant that the API takes, from what people write: "30d", counted from now, or "2027-01-01T00:00:00Z".
// Throws CommandError, which names the option.
std::string instant_from(std::string_view option, const std::string& text);

}  // namespace sluice::cli

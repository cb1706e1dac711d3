#pragma once

#include <string_view>

namespace sluice {

// A dimension of a request: {"user", "u123"}. A plain value; it does not own its texts.
struct Dimension {
  std::string_view name;
  std::string_view value;
};

}  // namespace sluice

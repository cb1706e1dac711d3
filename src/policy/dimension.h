#pragma once

#include <string_view>

namespace sluice {

// A dimension of a request: {"user", "u123"}. A plain value; the texts belong to others.
struct Dimension {
  std::string_view name;
  std::string_view value;
};

}  // namespace sluice

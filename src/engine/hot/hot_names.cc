#include "engine/hot/hot_names.h"

#include <algorithm>
#include <cstring>

#include "base/limits/hot_key_limits.h"

namespace sluice {
namespace {

using Length = std::uint16_t;

// Keys of an API are secrets.
bool is_secret(const CompiledDimension& dimension) { return dimension.name == "api_key"; }

}  // namespace

void HotNames::add(const CompiledPolicy& policy, const CompiledLimit& limit, const Dimensions& dimensions,
                   bool shows_values) {
  if (limit.by_tenant)
    bytes_.append(policy.source.tenant.empty() ? dimensions.tenant()
                                               : std::string_view(policy.source.tenant));
  const std::size_t tenant_end = bytes_.size();
  if (shows_values && std::ranges::none_of(*limit.key, is_secret))
    for (const CompiledDimension& dimension : *limit.key) {
      const std::string_view value = dimensions.value_of(dimension);
      const auto length = static_cast<Length>(value.size());
      bytes_.append(reinterpret_cast<const char*>(&length), sizeof length).append(value);
    }
  if (bytes_.size() - tenant_end > kHotNameBytesMax) bytes_.resize(tenant_end);
  ends_.push_back({tenant_end, bytes_.size()});
}

std::string_view take_value(std::string_view& values) {
  Length length = 0;
  std::memcpy(&length, values.data(), sizeof length);
  const std::string_view value = values.substr(sizeof length, length);
  values.remove_prefix(sizeof length + length);
  return value;
}

}  // namespace sluice

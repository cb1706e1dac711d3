#include "engine/check_request.h"

#include <fmt/format.h>

#include <cstring>

#include "base/limits.h"

namespace sluice {
namespace {

std::string_view from_map(const CheckRequest& request, std::string_view name) {
  for (const Dimension& dimension : request.dimensions)
    if (dimension.name == name) return dimension.value;
  return {};
}

Result<void> at_most(std::string_view field, std::string_view value, std::size_t bytes_max) {
  if (value.size() <= bytes_max) return {};
  return invalid(std::string(field),
                 fmt::format("{} is {} bytes long; at most {} are allowed", field, value.size(), bytes_max));
}

Result<void> validate_dimensions(const CheckRequest& request) {
  if (request.dimensions.size() > kDimensionsMax)
    return invalid("dimensions", fmt::format("{} dimensions; at most {} are allowed",
                                             request.dimensions.size(), kDimensionsMax));
  for (const Dimension& dimension : request.dimensions) {
    if (auto name = at_most("dimensions", dimension.name, kNameBytesMax); !name) return name;
    if (dimension.value.size() > kKeyBytesMax)
      return at_most(fmt::format("dimensions.{}", dimension.name), dimension.value, kKeyBytesMax);
  }
  return {};
}

}  // namespace

Result<void> validate(const CheckRequest& request) {
  struct Bound {
    std::string_view field;
    std::string_view value;
    std::size_t bytes_max;
  };
  for (const Bound& bound : {Bound{"policy_id", request.policy_id, kNameBytesMax},
                             {"tenant_id", request.tenant, kKeyBytesMax},
                             {"resource", request.resource, kResourceBytesMax},
                             {"key", request.key, kKeyBytesMax},
                             {"request_id", request.request_id, kRequestIdBytesMax}})
    if (auto fits = at_most(bound.field, bound.value, bound.bytes_max); !fits) return fits;
  if (request.cost && (*request.cost < 0 || *request.cost > kCostMax))
    return invalid("cost", fmt::format("a cost of {} is out of range; it must be from 0 to {}", *request.cost,
                                       kCostMax));
  return validate_dimensions(request);
}

std::string_view dimension_value(const CheckRequest& request, std::string_view name) {
  if (name == "tenant" && !request.tenant.empty()) return request.tenant;
  if (name == "key" && !request.key.empty()) return request.key;
  if ((name == "resource" || name == "route") && !request.resource.empty()) return request.resource;
  const std::string_view value = from_map(request, name);
  if (value.empty() && name == "user") return request.key;
  if (value.empty() && name == "route") return from_map(request, "resource");
  if (value.empty() && name == "resource") return from_map(request, "route");
  return value;
}

std::optional<KeyHash> counter_key(const CheckRequest& request, const CompiledLimit& limit,
                                   const KeyHasher& hasher) {
  // Values are at most kKeyBytesMax long, the resource excepted.
  char buffer[sizeof(KeyHash) + kDimensionsPerLimitMax * (sizeof(std::uint16_t) + kKeyBytesMax) +
              2 * kResourceBytesMax];
  char* end = buffer;
  const auto append = [&end](const void* data, std::size_t size) {
    std::memcpy(end, data, size);
    end += size;
  };
  append(&limit.identity, sizeof limit.identity);
  for (const std::string& name : limit.per) {
    const std::string_view value = dimension_value(request, name);
    if (value.empty()) return std::nullopt;
    const auto size = static_cast<std::uint16_t>(value.size());
    append(&size, sizeof size);
    append(value.data(), value.size());
  }
  return hasher({buffer, static_cast<std::size_t>(end - buffer)});
}

}  // namespace sluice

#include "engine/request/check_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/limits.h"
#include "base/try.h"

namespace sluice {
namespace {

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
    SLUICE_TRY(at_most("dimensions", dimension.name, kNameBytesMax));
    if (dimension.value.size() > kKeyBytesMax)
      return at_most(fmt::format("dimensions.{}", dimension.name), dimension.value, kKeyBytesMax);
  }
  return {};
}

}  // namespace

Result<void> explain_bounds(const CheckRequest& request) {
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
    SLUICE_TRY(at_most(bound.field, bound.value, bound.bytes_max));
  if (request.cost && (*request.cost < 0 || *request.cost > kCostMax))
    return invalid("cost", fmt::format("a cost of {} is out of range; it must be from 0 to {}", *request.cost,
                                       kCostMax));
  return validate_dimensions(request);
}

std::string_view Dimensions::resource_in_map() const {
  const std::string_view resource = in_map("resource");
  return resource.empty() ? in_map("route") : resource;
}

bool Dimensions::lack_key_of(const CompiledLimit& limit, bool as_user) const {
  return std::ranges::any_of(*limit.key, [&](const CompiledDimension& dimension) {
    const bool is_key =
        dimension.kind == DimensionKind::kKey || (as_user && dimension.kind == DimensionKind::kUser);
    return is_key && value_of(dimension).empty();
  });
}

bool Dimensions::are_alone_in(const CompiledLimit& limit) const {
  const bool names_somebody = !user().empty();
  return std::ranges::any_of(*limit.key, [&](const CompiledDimension& dimension) {
    const bool is_somebody = dimension.kind == DimensionKind::kKey || dimension.kind == DimensionKind::kUser;
    return is_somebody || (!names_somebody && dimension.kind == DimensionKind::kOther);
  });
}

bool has_dimensions_of(const CompiledLimit& limit, const Dimensions& dimensions) {
  return std::ranges::none_of(
      *limit.key, [&](const CompiledDimension& dimension) { return dimensions.value_of(dimension).empty(); });
}

namespace {

// The bytes that are hashed into a key, assembled on the stack.
class KeyBytes {
 public:
  void append(const void* data, std::size_t size) {
    std::memcpy(end_, data, size);
    end_ += size;
  }
  // Returns false if one of the values is absent.
  bool append_values(const Dimensions& dimensions, const std::vector<CompiledDimension>& of) {
    for (const CompiledDimension& dimension : of) {
      const std::string_view value = dimensions.value_of(dimension);
      if (value.empty()) return false;
      const auto size = static_cast<std::uint16_t>(value.size());
      append(&size, sizeof size);
      append(value.data(), value.size());
    }
    return true;
  }
  std::string_view bytes() const { return {buffer_, static_cast<std::size_t>(end_ - buffer_)}; }

 private:
  // Values are at most kKeyBytesMax long, except the resource, which may be named twice.
  char buffer_[sizeof(KeyHash) + kDimensionsPerLimitMax * (sizeof(std::uint16_t) + kKeyBytesMax) +
               2 * kResourceBytesMax];
  char* end_ = buffer_;
};

}  // namespace

std::optional<KeyHash> counter_key(const Dimensions& dimensions, const CompiledLimit& limit,
                                   const KeyHasher& hasher) {
  KeyBytes key;
  key.append(&limit.identity, sizeof limit.identity);
  if (!key.append_values(dimensions, *limit.key)) return std::nullopt;
  return hasher(key.bytes());
}

KeyHash values_key(const Dimensions& dimensions, const std::vector<CompiledDimension>& of,
                   const KeyHasher& hasher) {
  KeyBytes key;
  key.append_values(dimensions, of);
  return hasher(key.bytes());
}

}  // namespace sluice

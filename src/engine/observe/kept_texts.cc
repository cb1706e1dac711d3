#include "engine/observe/kept_texts.h"

namespace sluice {

void KeptTexts::clear() {
  if (bytes_.capacity() > kReservedBytesMax) bytes_ = {};
  bytes_.clear();
  kept_.clear();
  lengths_.clear();
}

void KeptTexts::add(const AskedTexts& asked) {
  kept_.push_back({.begin = bytes_.size(),
                   .tenant = asked.tenant.size(),
                   .resource = asked.resource.size(),
                   .key = asked.key.size(),
                   .request_id = asked.request_id.size(),
                   .first_dimension = lengths_.size(),
                   .dimensions = asked.dimensions.size(),
                   .trace = asked.trace ? *asked.trace : TraceContext{},
                   .has_trace = asked.trace != nullptr});
  bytes_.append(asked.tenant).append(asked.resource).append(asked.key).append(asked.request_id);
  for (const Dimension& dimension : asked.dimensions) {
    lengths_.push_back({dimension.name.size(), dimension.value.size()});
    bytes_.append(dimension.name).append(dimension.value);
  }
}

AskedTexts KeptTexts::operator[](std::size_t i) {
  const Kept& kept = kept_[i];
  std::string_view rest = std::string_view(bytes_).substr(kept.begin);
  const auto take = [&rest](std::size_t length) {
    const std::string_view text = rest.substr(0, length);
    rest.remove_prefix(length);
    return text;
  };
  AskedTexts asked;
  asked.tenant = take(kept.tenant);
  asked.resource = take(kept.resource);
  asked.key = take(kept.key);
  asked.request_id = take(kept.request_id);
  dimensions_.clear();
  for (std::size_t n = 0; n < kept.dimensions; ++n) {
    const Lengths& lengths = lengths_[kept.first_dimension + n];
    const std::string_view name = take(lengths.name);
    dimensions_.push_back({name, take(lengths.value)});
  }
  asked.dimensions = dimensions_;
  asked.trace = kept.has_trace ? &kept.trace : nullptr;
  return asked;
}

}  // namespace sluice

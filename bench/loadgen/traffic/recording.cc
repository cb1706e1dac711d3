#include "loadgen/traffic/recording.h"

#include <algorithm>
#include <cstring>

#include "plan/log/field_names.h"
#include "plan/log/log_file.h"
#include "plan/log/request_maker.h"
#include "plan/log/traffic.h"

namespace sluice::loadgen {
namespace {

using Failure = std::unexpected<std::string>;

// A server does not say which dimensions its policies use, so requests carry all that may be used.
std::vector<std::string> dimensions_of(const ReplayOptions& options) {
  using plan::LogField;
  std::vector<std::string> names;
  for (const LogField field : {LogField::kIp, LogField::kUser, LogField::kMethod, LogField::kHost,
                               LogField::kApiKey, LogField::kTier})
    names.emplace_back(plan::FieldNames::name_of(field));
  for (const std::string& map : options.maps) names.push_back(map.substr(0, map.find('=')));
  return names;
}

std::string nothing_found(const std::string& file, const plan::LogCounts& counts) {
  std::string sentence = "no requests found in " + file;
  if (counts.first_bad.empty()) return sentence + "; give an access log or usage events.";
  const plan::BadLine& first = counts.first_bad.front();
  return sentence + "; line " + std::to_string(first.number) + ": " + first.reason + " (see --format).";
}

}  // namespace

std::expected<Recording, std::string> Recording::read(const ReplayOptions& options) {
  const plan::RequestRules rules{.tenant = options.tenant,
                                 .tenant_from = options.tenant_from,
                                 .key = options.key,
                                 .cost = options.cost,
                                 .maps = options.maps};
  plan::FieldNames names;
  const auto maker = plan::RequestMaker::make(rules, names, dimensions_of(options));
  if (!maker) return Failure(maker.error());
  plan::Traffic traffic(plan::log_format_from_string(options.format), names, *maker);
  auto opened = plan::open_log(options.file);
  if (!opened) return Failure(opened.error());
  traffic.add(options.file, std::move(*opened));

  Recording recording;
  std::int64_t latest_us = 0;
  while (true) {
    const auto entry = traffic.next();
    if (!entry) return Failure(entry.error());
    if (!*entry) break;
    latest_us = std::max(latest_us, (*entry)->at_us);
    if (!recording.add(latest_us, (*entry)->request))
      return Failure("the log is too long to be replayed at once; replay it in parts.");
  }
  if (recording.size() == 0) return Failure(nothing_found(options.file, traffic.counts()));
  return recording;
}

bool Recording::add(std::int64_t at_us, const CheckRequest& request) {
  const std::size_t dimensions = std::min(request.dimensions.size(), kDimensionsMax);
  if (entries_.size() == kRequestsMax || texts_.size() >= kBytesMax) return false;
  entries_.push_back(
      {at_us, request.cost.value_or(-1), texts_.size(), static_cast<std::uint32_t>(dimensions)});
  for (const std::string_view text :
       {request.policy_id, request.tenant, request.resource, request.key, request.request_id})
    append(text);
  for (const Dimension& dimension : request.dimensions.first(dimensions)) {
    append(dimension.name);
    append(dimension.value);
  }
  return true;
}

CheckRequest Recording::request(std::uint32_t i, Room& room) const {
  const Entry& entry = entries_[i];
  std::size_t at = entry.begin;
  CheckRequest request;
  request.policy_id = take(at);
  request.tenant = take(at);
  request.resource = take(at);
  request.key = take(at);
  request.request_id = take(at);
  for (std::uint32_t d = 0; d < entry.dimensions; ++d) {
    const std::string_view name = take(at);
    room[d] = {name, take(at)};
  }
  request.dimensions = {room.data(), entry.dimensions};
  if (entry.cost >= 0) request.cost = entry.cost;
  return request;
}

void Recording::append(std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  texts_.append(reinterpret_cast<const char*>(&size), sizeof size);
  texts_.append(text);
}

std::string_view Recording::take(std::size_t& at) const {
  std::uint32_t size = 0;
  std::memcpy(&size, texts_.data() + at, sizeof size);
  at += sizeof size;
  const std::string_view text(texts_.data() + at, size);
  at += size;
  return text;
}

}  // namespace sluice::loadgen

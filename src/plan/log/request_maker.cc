#include "plan/log/request_maker.h"

#include <algorithm>
#include <charconv>

#include "document/literals.h"
#include "doors/http/origin/forwarded.h"

namespace sluice::plan {
namespace {

using Failure = std::unexpected<std::string>;

// Dimensions that are fields of a request.
bool is_field_of_request(std::string_view dimension) {
  return dimension == "tenant" || dimension == "resource" || dimension == "route" || dimension == "key";
}

// An empty name requests nothing.
std::expected<std::optional<FieldIndex>, std::string> asked_field(const std::string& name,
                                                                  FieldNames& names) {
  if (name.empty()) return std::nullopt;
  const auto index = names.ask_for(name);
  if (!index) return Failure(index.error());
  return *index;
}

}  // namespace

std::expected<RequestMaker, std::string> RequestMaker::make(const RequestRules& rules, FieldNames& names,
                                                            const std::vector<std::string>& used_dimensions) {
  RequestMaker maker;
  maker.tenant_ = rules.tenant;
  maker.denied_status_ = rules.denied_status;
  maker.asks_for_fields_ =
      !rules.tenant_from.empty() || !rules.key.empty() || !rules.cost.empty() || !rules.maps.empty();
  const auto tenant = asked_field(rules.tenant_from, names);
  const auto key = asked_field(rules.key, names);
  const auto cost = asked_field(rules.cost, names);
  for (const auto* field : {&tenant, &key, &cost})
    if (!*field) return Failure(field->error());
  maker.tenant_field_ = tenant->value_or(maker.tenant_field_);
  maker.key_field_ = *key;
  maker.cost_field_ = *cost;

  for (const std::string& map : rules.maps) {
    const std::size_t equals = map.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == map.size())
      return Failure("--map " + shown(map) + ": write dimension=field, for example --map plan=account.plan");
    const std::string dimension = map.substr(0, equals);
    if (is_field_of_request(dimension))
      return Failure("--map cannot set " + shown(dimension) + "; use --tenant-from or --key");
    const auto field = names.ask_for(map.substr(equals + 1));
    if (!field) return Failure(field.error());
    maker.sources_.push_back({dimension, *field});
  }
  for (const std::string& dimension : used_dimensions) {
    const auto same = [&](const Source& source) { return source.dimension == dimension; };
    const auto field = names.find(dimension);
    if (field && *field < kLogFields && !is_field_of_request(dimension) &&
        std::ranges::none_of(maker.sources_, same))
      maker.sources_.push_back({dimension, *field});
  }
  // Dimensions that no policy uses could only make a request too long.
  std::erase_if(maker.sources_, [&](const Source& source) {
    return std::ranges::find(used_dimensions, source.dimension) == used_dimensions.end();
  });
  return maker;
}

std::expected<bool, std::string> RequestMaker::make_request(const AccessEntry& entry, Room& room,
                                                            TrafficEntry& out) const {
  const std::string_view path = entry[LogField::kPath];
  if (path.empty()) return false;
  out.at_us = entry.at_us;
  out.denied_then = entry[LogField::kStatus] == denied_status_;
  CheckRequest& request = out.request;
  request = {};
  request.tenant = tenant_.empty() ? entry.fields[tenant_field_] : std::string_view(tenant_);
  room.resource.clear();
  out.refusal.reset();
  if (auto read = doors::append_resource(path, room.resource); !read) out.refusal = std::move(read.error());
  request.resource = out.refusal ? path : std::string_view(room.resource);
  const std::string_view user = entry[LogField::kUser];
  request.key = key_field_ ? entry.fields[*key_field_] : user.empty() ? entry[LogField::kIp] : user;
  std::size_t count = 0;
  for (const Source& source : sources_)
    if (const std::string_view value = entry.fields[source.field]; !value.empty())
      room.dimensions[count++] = {source.dimension, value};
  request.dimensions = {room.dimensions.data(), count};
  if (!cost_field_) return true;
  if (const std::string_view text = without_dash(entry.fields[*cost_field_]); !text.empty()) {
    std::int64_t cost = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cost);
    if (error != std::errc() || end != text.data() + text.size() || cost < 0)
      return Failure("its cost is " + shown(text) + ", not a whole number");
    request.cost = cost;
  }
  return true;
}

bool RequestMaker::is_secret(std::string_view dimension) const {
  constexpr FieldIndex kSecret = index_of(LogField::kApiKey);
  if (dimension == FieldNames::name_of(LogField::kApiKey)) return true;
  // If a request has no user, its user is its key.
  if (dimension == "key" || dimension == "user") return key_field_ == kSecret;
  return std::ranges::any_of(sources_, [&](const Source& source) {
    return source.dimension == dimension && source.field == kSecret;
  });
}

}  // namespace sluice::plan

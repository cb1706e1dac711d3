#include "plan/log/json_log.h"

#include "doors/http/origin/forwarded.h"
#include "plan/log/common_log.h"
#include "plan/log/log_time.h"

namespace sluice::plan {
namespace {

using Kind = JsonReader::Kind;

// A string, number or boolean as text; empty for other kinds.
std::string_view text_of(JsonReader& reader) {
  switch (reader.kind()) {
    case Kind::kString:
      return without_dash(reader.string());
    case Kind::kNumber:
    case Kind::kBoolean:
      return reader.plain();
    default:
      reader.skip();
      return {};
  }
}

}  // namespace

// The reader limits the depth of this recursion.
void JsonLogReader::read_object(JsonReader& reader, AccessEntry& entry) {
  const std::size_t outer = outer_.size();
  for (std::string_view name; reader.next_member(name);) {
    std::string_view full_name = name;
    if (outer > 0) full_name = outer_.append(name);
    const auto field = names_.find(full_name);
    if (reader.kind() == Kind::kObject && reader.enter_object()) {
      if (outer == 0) outer_ = name;
      outer_ += '.';
      read_object(reader, entry);
    } else if (field && entry.fields[*field].empty()) {
      entry.fields[*field] = text_of(reader);
    } else {
      reader.skip();
    }
    outer_.resize(outer);
  }
}

Reading JsonLogReader::read(std::string_view line, AccessEntry& entry) {
  entry.fields = {};
  outer_.clear();
  JsonReader reader(line, scratch_);
  if (reader.enter_object()) read_object(reader, entry);
  if (!reader.finish()) return std::unexpected(reader.error());
  if (entry[LogField::kTime].empty())
    return std::unexpected("it has no time field (time, @timestamp, ts, …)");
  const auto at_us = log_instant_us(entry[LogField::kTime]);
  if (!at_us)
    return std::unexpected(
        "its time must be Unix time, or look like 2026-10-10T13:55:36Z or 10/Oct/2026:13:55:36 -0700");
  entry.at_us = *at_us;
  if (entry[LogField::kPath].empty())
    read_request_line(entry[LogField::kRequest], entry);
  else
    entry[LogField::kPath] = doors::path_of_uri(entry[LogField::kPath]);
  return {};
}

}  // namespace sluice::plan

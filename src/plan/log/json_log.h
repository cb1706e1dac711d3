#pragma once

#include <string>
#include <string_view>

#include "base/text/json_reader.h"
#include "plan/log/access_entry.h"
#include "plan/log/field_names.h"

namespace sluice::plan {

// Reads access logs of one JSON object per line. Members are recognized by the names in FieldNames; others
// are skipped. If a field occurs twice (or under two names), the first one counts. Views of an entry are
// valid until the next line. Not thread-safe.
//
//   {"time":"2026-10-10T13:55:36Z","remote_addr":"192.0.2.7","request":"GET /search HTTP/1.1","status":200}
class JsonLogReader {
 public:
  // `names` must outlive this object.
  explicit JsonLogReader(const FieldNames& names) : names_(names) {}

  Reading read(std::string_view line, AccessEntry& entry);

 private:
  void read_object(JsonReader& reader, AccessEntry& entry);

  const FieldNames& names_;
  std::string scratch_;
  std::string outer_;  // "request." while inside the object of that name
};

}  // namespace sluice::plan

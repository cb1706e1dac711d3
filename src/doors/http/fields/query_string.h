#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::doors {

// Appends `text` to `out` with %41 turned into A (and, in a query, + into a space). False if an escape is
// malformed or the result is not UTF-8. Never appends more bytes than it reads.
bool percent_decode(std::string_view text, bool plus_is_space, std::string& out);

// Iterates over "name=value&name=value". Views point into `scratch`, which must have room for the whole
// query, because its bytes must not move meanwhile. Not thread-safe.
//
//   QueryReader query("tenant_id=a&key=b%20c", scratch);
//   while (query.next()) use(query.name(), query.value());
//   if (!query.ok()) return malformed;
class QueryReader {
 public:
  // REQUIRES: scratch.capacity() >= scratch.size() + query.size().
  QueryReader(std::string_view query, std::string& scratch);

  // Moves to the next pair, skipping empty ones. False at the end or after an error.
  bool next();
  bool ok() const { return ok_; }
  std::string_view name() const { return name_; }
  std::string_view value() const { return value_; }

 private:
  bool decode(std::string_view text, std::string_view& out);

  std::string_view rest_;
  std::string& scratch_;
  std::string_view name_;
  std::string_view value_;
  bool ok_ = true;
};

}  // namespace sluice::doors

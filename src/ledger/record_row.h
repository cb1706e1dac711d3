#pragma once

#include <cstdint>
#include <limits>

#include "ledger/ledger.h"

namespace sluice::ledger {

// The error for a record that the list of documents names but that does not exist.
inline Error missing_record(std::int64_t revision) {
  return {ErrorCode::kFailedPrecondition,
          "revision " + std::to_string(revision) +
              ": it is missing, but the list of documents names it; was the database changed by hand?",
          ""};
}

// Reads an entry of the list of documents from a database row, whose columns are in the order of Listing.
template <class Row>
Listing listing_from(const Row& row) {
  return {row.get_text(0), row.get_text(1), row.get_number(2), row.get_number(3) != 0, row.get_number(4)};
}

// Reads a record from a database row, whose columns are in the order of Record. `Row` has get_number(column)
// and get_text(column). kFailedPrecondition names the revision if its kind is invalid, or if all other
// columns are empty because an outer join found no record.
template <class Row>
Result<Record> record_from(const Row& row) {
  Record record{.revision = row.get_number(0)};
  const std::string kind = row.get_text(1);
  if (kind.empty()) return std::unexpected(missing_record(record.revision));
  const auto known = kind_from(kind);
  if (!known)
    return std::unexpected(Error{ErrorCode::kFailedPrecondition,
                                 "revision " + std::to_string(record.revision) + ": unknown kind '" + kind +
                                     "'; was the database changed by hand?",
                                 ""});
  record.kind = *known;
  record.name = row.get_text(2);
  record.version = row.get_number(3);
  record.action = row.get_text(4);
  record.body = row.get_text(5);
  record.actor = row.get_text(6);
  record.reason = row.get_text(7);
  record.at_us = row.get_number(8);
  record.request_id = row.get_text(9);
  record.body_hash = row.get_text(10);
  record.hash = row.get_text(11);
  return record;
}

// The number after LIMIT.
inline std::int64_t row_count(std::size_t max) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return max > static_cast<std::size_t>(kMost) ? kMost : static_cast<std::int64_t>(max);
}

}  // namespace sluice::ledger

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "policy/fields.h"
#include "policy/model.h"

namespace sluice {

// "gcra", "token_bucket", …
Literal<Algorithm> parse_algorithm(std::string_view text);
// "keep", "proportional", "reset"
std::string_view to_string(OnChange on_change);
Literal<OnChange> parse_on_change(std::string_view text);

// A limit as far as it is written: what a tier may replace is not yet computed.
struct WrittenLimit {
  Limit limit;  // all but `params`
  Algorithm algorithm = Algorithm::kGcra;
  std::optional<Rate> rate;
  std::optional<std::int64_t> burst;
};

// What a limit is called that was given no name: "limit1" for the first.
std::string default_limit_name(std::size_t index);

// The element number `index` of `limits`. Problems are reported; then its `rate` may be absent.
WrittenLimit read_limit(const DocumentNode& node, const Place& place, std::size_t index);

// A tier's map of limit name → {rate, burst}: the plain limits with those numbers replaced. What a tier does
// not name stays as it is in the plain limit.
std::vector<WrittenLimit> read_tier(const DocumentNode& node, const Place& place,
                                    const std::vector<WrittenLimit>& plain);

// The numbers of a limit in their final form; no value when they are impossible. That is reported with the
// field to blame, or, if `node` leaves that to the plain limit as a tier may, with the one that is there.
std::optional<LimitParams> finish_params(const WrittenLimit& written, const DocumentNode& node,
                                         const Place& place);

// `local`: rate and burst of a gcra limit.
std::optional<LimitParams> read_local(const DocumentNode& node, const Place& place);

}  // namespace sluice

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "document/fields.h"
#include "policy/model.h"

namespace sluice {

// "gcra", "token_bucket", …
Literal<Algorithm> parse_algorithm(std::string_view text);
// "keep", "proportional", "reset"
std::string_view to_string(OnChange on_change);
Literal<OnChange> parse_on_change(std::string_view text);

// A limit as written. Numbers that a tier may replace are not computed yet.
struct WrittenLimit {
  Limit limit;  // all fields but `params`
  Algorithm algorithm = Algorithm::kGcra;
  std::optional<Rate> rate;
  std::optional<std::int64_t> burst;
};

// The name of a limit without a name: "limit1" for the first.
std::string default_limit_name(std::size_t index);

// Reads element `index` of `limits`. Problems are reported; `rate` may then be absent.
WrittenLimit read_limit(const DocumentNode& node, const Place& place, std::size_t index);

// Reads a tier's map of limit name → {rate, burst}: the plain limits with those numbers replaced. Numbers
// that the tier does not name are those of the plain limit.
std::vector<WrittenLimit> read_tier(const DocumentNode& node, const Place& place,
                                    const std::vector<WrittenLimit>& plain);

// The numbers of a limit in their final form; no value if they are invalid. The error names the offending
// field or, if `node` is a tier and inherits that field from the plain limit, the field that the tier has.
std::optional<LimitParams> finish_params(const WrittenLimit& written, const DocumentNode& node,
                                         const Place& place);

// Reads `local`: rate and burst of a gcra limit.
std::optional<LimitParams> read_local(const DocumentNode& node, const Place& place);

}  // namespace sluice

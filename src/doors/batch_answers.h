#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "engine/limiter.h"

namespace sluice::doors {

// Appends one answer of a batch; `is_first` for those who separate.
using WriteOne = void (*)(const Decision& decision, bool is_first, std::string& out);

// Takes all answers of a batch, one after the other, or the first error.
using LaterBatch = std::function<void(const Result<std::string>&)>;

// Checks a whole batch: all are valid, or none is asked. The answers are joined in the order of the checks,
// whenever each of them comes. If some of them come later, so does the whole: then `postpone` makes the
// function that will get it, and nothing is returned.
std::optional<Result<std::string>> check_all(Limiter& limiter, std::span<const CheckRequest> checks,
                                             WriteOne write, const std::function<LaterBatch()>& postpone);

}  // namespace sluice::doors

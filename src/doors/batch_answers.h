#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "engine/limiter.h"

namespace sluice::doors {

// Appends one answer of a batch, or the error that stands in its place; `is_first` for those who separate.
using WriteOne = void (*)(const Result<Decision>& decision, bool is_first, std::string& out);

// Takes all answers of a batch, one after the other, or the error that stands for the whole.
using LaterBatch = std::function<void(const Result<std::string>&)>;

// Checks a whole batch: all are valid, or none is asked and the error names the first that is not. A
// request_id that stands on two different checks of the batch is such an error. One that an earlier request
// has used is known only to the store; by then other checks are charged, so it is an error in the place of
// that one answer.
//
// Those that meet on a counter are decided in the order of the batch.
//
// A check that is shed (kOverloaded) is an error in its place, too: the others are decided and charged. When
// all of them are shed, so is the batch.
//
// The answers are joined in the order of the checks, whenever each of them comes. If some of them come later,
// so does the whole: then `postpone` makes the function that will get it, and nothing is returned.
std::optional<Result<std::string>> check_all(Limiter& limiter, std::span<const CheckRequest> checks,
                                             WriteOne write, const std::function<LaterBatch()>& postpone);

}  // namespace sluice::doors

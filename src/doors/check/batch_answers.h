#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "doors/access/door_engine.h"

namespace sluice::doors {

// Appends one answer of a batch, or the error in its place. `is_first` is for formats with separators.
using WriteOne = void (*)(const Result<Decision>& decision, bool is_first, std::string& out);

// Receives all answers of a batch, concatenated, or the error for the whole batch.
using LaterBatch = std::function<void(const Result<std::string>&)>;

// Checks a whole batch. If any check is invalid, none is charged, and the error names the first invalid one.
// Using one request_id for two different checks of the batch is such an error. Only the store knows whether
// an earlier request used a request_id. By then other checks are charged, so that error replaces only the one
// answer.
//
// Checks that share a counter are decided in batch order.
//
// If a check is shed (kOverloaded), that error replaces its answer; the others are decided and charged. If
// all of them are shed, the batch is.
//
// The answers are joined in the order of the checks, whatever order they arrive in. If any of them comes
// later, so does the whole batch: then `postpone` makes the function that will receive it, and nothing is
// returned.
std::optional<Result<std::string>> check_all(DoorEngine& engine, Permit permit,
                                             std::span<const CheckRequest> checks, WriteOne write,
                                             const std::function<LaterBatch()>& postpone);

}  // namespace sluice::doors

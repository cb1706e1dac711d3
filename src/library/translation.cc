#include "library/translation.h"

#include <algorithm>
#include <utility>

namespace sluice::library {
namespace {

constexpr std::string_view kClosedText = "the limiter is closed";

Trouble trouble_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kInternal:
      return Trouble::kUnavailable;
    case ErrorCode::kOverloaded:
      return Trouble::kOverloaded;
    default:
      return Trouble::kInvalid;
  }
}

std::string_view reason_of(Trouble trouble) {
  switch (trouble) {
    case Trouble::kUnavailable:
      return "unavailable";
    case Trouble::kOverloaded:
      return "overloaded";
    case Trouble::kClosed:
      return "closed";
    default:
      return "invalid";
  }
}

std::string text_of(const Error& error) {
  return error.field.empty() ? error.message : error.field + ": " + error.message;
}

Answer trouble_answer(Trouble trouble, std::string message) {
  Answer answer;
  answer.trouble = trouble;
  answer.reason = reason_of(trouble);
  answer.message = std::move(message);
  return answer;
}

// The failure rule decided, because the store did not.
bool is_without_store(const Decision& decision) {
  return decision.reason == Reason::kStoreUnavailable || decision.reason == Reason::kStoreFull ||
         decision.reason == Reason::kTenantMoving;
}

}  // namespace

EngineRequest::EngineRequest(const Request& request) {
  request_.policy_id = request.policy_id;
  request_.tenant = request.tenant;
  request_.resource = request.resource;
  request_.key = request.key;
  if (!request.dimensions.empty()) request_.dimensions = copy_dimensions(request);
  request_.cost = request.cost;
  request_.request_id = request.request_id;
}

std::span<const Dimension> EngineRequest::copy_dimensions(const Request& request) {
  auto& copies = dimensions_.emplace();
  const std::size_t count = std::min(request.dimensions.size(), copies.size());
  for (std::size_t i = 0; i < count; ++i)
    copies[i] = {request.dimensions[i].first, request.dimensions[i].second};
  return {copies.data(), count};
}

Answer answer_of(const Result<Decision>& decision, const FixedPolicies& policies) {
  if (!decision) [[unlikely]]
    return trouble_answer(trouble_of(decision.error().code), text_of(decision.error()));
  Answer answer;
  answer.allowed = decision->allowed;
  answer.degraded = decision->degraded;
  answer.retry_after = std::chrono::milliseconds(decision->retry_after_ms());
  answer.reason = to_string(decision->reason);
  if (const LimitStatus* const tightest = decision->tightest) [[likely]] {
    answer.limit = decision->limit();
    answer.remaining = decision->remaining();
    answer.reset_after = std::chrono::milliseconds((tightest->result->outcome.reset_after_us + 999) / 1000);
    answer.limit_name = tightest->limit->name();
  }
  if (decision->policy) [[likely]]
    answer.policy_version = policies.version_text(*decision->policy);
  if (is_without_store(*decision)) [[unlikely]] {
    answer.trouble = Trouble::kUnavailable;
    answer.message = "the store did not decide; the policy's failure rule did";
  }
  return answer;
}

ResetAnswer answer_of(const Result<int>& counters) {
  return counters ? ResetAnswer{*counters, ""} : ResetAnswer{-1, text_of(counters.error())};
}

Answer closed_answer() { return trouble_answer(Trouble::kClosed, std::string(kClosedText)); }

Answer invalid_answer(std::string message) { return trouble_answer(Trouble::kInvalid, std::move(message)); }

ResetAnswer closed_reset() { return {-1, std::string(kClosedText)}; }

}  // namespace sluice::library

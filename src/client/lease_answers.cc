#include "client/lease_answers.h"

namespace sluice {

Answer unreachable_answer(bool allows, std::string_view why) {
  Answer answer;
  answer.allowed = allows;
  answer.degraded = true;
  answer.trouble = Trouble::kUnavailable;
  answer.reason = kUnreachableReason;
  answer.message = why;
  return answer;
}

Answer closed_answer() {
  Answer answer;
  answer.trouble = Trouble::kClosed;
  answer.reason = "closed";
  answer.message = "the limiter was closed";
  return answer;
}

}  // namespace sluice

#include "document/problems.h"

#include <utility>

#include "base/limits.h"

namespace sluice {

std::string Problem::text() const {
  std::string text = file;
  if (line > 0) text += ':' + std::to_string(line);
  if (!text.empty()) text += ": ";
  if (!field.empty()) text += field + ": ";
  return text + message;
}

void Problems::add(Problem problem) {
  if (list_.size() < kPolicyProblemsMax)
    list_.push_back(std::move(problem));
  else
    ++left_out_;
}

Error Problems::first_error() const {
  const Problem& first = list_.front();
  return {ErrorCode::kInvalidArgument, first.message, first.field};
}

std::vector<std::string> Problems::texts() const {
  std::vector<std::string> texts;
  for (const Problem& problem : list_) texts.push_back(problem.text());
  if (left_out_ > 0) texts.push_back("and " + std::to_string(left_out_) + " more");
  return texts;
}

}  // namespace sluice

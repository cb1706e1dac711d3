#include "plan/report/denial_list.h"

#include <cerrno>
#include <system_error>

#include "document/literals.h"
#include "doors/text.h"
#include "plan/report/shown_text.h"

namespace sluice::plan {
namespace {

std::string cannot_write(const std::string& path) {
  return "cannot write " + path + ": " + std::generic_category().message(errno) + ".";
}

void append_member(std::string& line, std::string_view name, std::string_view value) {
  doors::append_json_string(line, name);
  line += ':';
  doors::append_json_string(line, value);
  line += ',';
}

}  // namespace

std::expected<DenialList, std::string> DenialList::create(const std::string& path, const ShownValues& shown) {
  DenialList list;
  list.path_ = path;
  list.shown_ = &shown;
  list.file_.reset(std::fopen(path.c_str(), "we"));
  if (!list.file_) return std::unexpected(cannot_write(path));
  return list;
}

void DenialList::add(const Replay::Denial& denial) {
  const Dimensions dimensions(denial.request);
  const std::string_view key = denial.request.key;
  line_ = '{';
  append_member(line_, "at", instant_text(denial.at_us));
  append_member(line_, "tenant_id", presentable(dimensions.tenant()));
  append_member(line_, "resource", presentable(dimensions.resource()));
  append_member(line_, "key", (*shown_)("key", key));
  append_member(line_, "policy_id", denial.decision.policy->source.id);
  append_member(line_, "limiting", denial.decision.tightest->limit->name());
  line_ += "\"retry_after_ms\":" + std::to_string(denial.decision.retry_after_ms());
  line_ += denial.newly ? ",\"newly_denied\":true}\n" : ",\"newly_denied\":false}\n";
  if (std::fwrite(line_.data(), 1, line_.size(), file_.get()) != line_.size()) failed_ = true;
}

std::expected<void, std::string> DenialList::finish() {
  if (std::fclose(file_.release()) != 0 || failed_) return std::unexpected(cannot_write(path_));
  return {};
}

}  // namespace sluice::plan

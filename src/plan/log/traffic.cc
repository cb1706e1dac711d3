#include "plan/log/traffic.h"

#include <algorithm>
#include <utility>

#include "base/try.h"

namespace sluice::plan {

void Traffic::add(std::string name, ReadBytes read) {
  fresh_.push_back(
      std::make_unique<Log>(std::move(name), std::move(read), LineParser(format_, names_, maker_)));
}

void Traffic::add_bad(const Log& log, std::string reason) {
  ++counts_.bad;
  if (counts_.first_bad.size() < kBadLinesShownMax)
    counts_.first_bad.push_back({log.name, log.line, std::move(reason)});
}

// False: the log has no more requests.
std::expected<bool, std::string> Traffic::advance(Log& log) {
  while (true) {
    const LineReader::Kind kind = SLUICE_TRY(log.lines.next());
    if (kind == LineReader::Kind::kEnd) return false;
    ++log.line;
    ++counts_.lines;
    if (kind == LineReader::Kind::kTooLong) {
      add_bad(log, "longer than " + std::to_string(kLogLineBytesMax >> 20) + " MiB");
      continue;
    }
    const std::string_view line = log.lines.line();
    if (line.empty() || line.starts_with('#') || line.find_first_not_of(" \t") == std::string_view::npos) {
      ++counts_.blank;
      continue;
    }
    auto parsed = log.parser.parse(line, log.entry);
    if (parsed && *parsed) return true;
    if (parsed)
      ++counts_.without_request;
    else
      add_bad(log, std::move(parsed.error()));
  }
}

std::expected<const TrafficEntry*, std::string> Traffic::next() {
  for (auto& log : std::exchange(fresh_, {})) {
    const bool has_request = SLUICE_TRY(advance(*log));
    if (has_request) open_.push_back(std::move(log));
  }
  if (given_) {
    const bool has_request = SLUICE_TRY(advance(*given_));
    if (!has_request) std::erase_if(open_, [this](const auto& log) { return log.get() == given_; });
  }
  if (open_.empty()) return given_ = nullptr, nullptr;
  given_ = open_.front().get();
  for (const auto& log : open_)
    if (log->entry.at_us < given_->entry.at_us) given_ = log.get();
  return &given_->entry;
}

}  // namespace sluice::plan

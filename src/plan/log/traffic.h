#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/log/line_parser.h"
#include "plan/log/line_reader.h"
#include "plan/log/traffic_entry.h"

namespace sluice::plan {

// A line that could not be read, and why.
struct BadLine {
  std::string log;
  std::uint64_t number = 0;  // from 1
  std::string reason;
};

// What was found in the logs. lines = requests + blank + without_request + bad.
struct LogCounts {
  std::uint64_t lines = 0;
  std::uint64_t blank = 0;            // or a comment: # …
  std::uint64_t without_request = 0;  // such as "-" or garbage where the request should be
  std::uint64_t bad = 0;
  std::vector<BadLine> first_bad;  // at most kBadLinesShownMax
};

// The requests of several logs, merged by time. Each log is expected to be roughly in order. Not thread-safe.
class Traffic {
 public:
  // The arguments must outlive this object. No format: the first line of each log decides.
  Traffic(std::optional<LogFormat> format, const FieldNames& names, const RequestMaker& maker)
      : format_(format), names_(names), maker_(maker) {}

  void add(std::string name, ReadBytes read);

  // The next request, valid until the next call; null: there are no more. The error is a sentence about a
  // log.
  std::expected<const TrafficEntry*, std::string> next();

  const LogCounts& counts() const { return counts_; }

 private:
  struct Log {
    Log(std::string log_name, ReadBytes read, const LineParser& parse)
        : name(std::move(log_name)), lines(std::move(read)), parser(parse) {}
    std::string name;
    LineReader lines;
    LineParser parser;
    std::uint64_t line = 0;
    TrafficEntry entry;
  };

  std::expected<bool, std::string> advance(Log& log);
  void add_bad(const Log& log, std::string reason);

  std::optional<LogFormat> format_;
  const FieldNames& names_;
  const RequestMaker& maker_;
  std::vector<std::unique_ptr<Log>> fresh_;  // not read yet
  std::vector<std::unique_ptr<Log>> open_;   // each with a current entry
  Log* given_ = nullptr;                     // the log whose entry the caller has
  LogCounts counts_;
};

}  // namespace sluice::plan

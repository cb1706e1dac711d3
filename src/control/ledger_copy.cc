#include "control/ledger_copy.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/control_limits.h"
#include "base/sealed_file.h"

namespace sluice::control {
namespace {

using ledger::Kind;
using ledger::Record;

void append_number(std::string& out, std::int64_t number) { append_field(out, std::to_string(number)); }

void append_record(std::string& out, const Record& record) {
  append_field(out, to_string(record.kind));
  append_field(out, record.name);
  append_number(out, record.revision);
  append_number(out, record.version);
  append_number(out, record.at_us);
  append_field(out, record.action);
  append_field(out, record.actor);
  append_field(out, record.reason);
  append_field(out, record.body);
}

// Reads fields until one makes no sense; then everything after it is nothing.
class Reader {
 public:
  explicit Reader(std::string_view contents) : fields_(contents) {}
  bool ok() const { return ok_; }
  bool at_end() const { return fields_.at_end() || !ok_; }

  std::string text() {
    const auto field = fields_.next();
    ok_ &= field.has_value();
    return std::string(field.value_or(""));
  }
  std::int64_t number() {
    const std::string digits = text();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    ok_ &= error == std::errc() && end == digits.data() + digits.size();
    return value;
  }
  Record record() {
    Record record;
    const auto kind = ledger::kind_from(text());
    ok_ &= kind.has_value();
    record.kind = kind.value_or(Kind::kEvent);
    record.name = text();
    record.revision = number();
    record.version = number();
    record.at_us = number();
    record.action = text();
    record.actor = text();
    record.reason = text();
    record.body = text();
    return record;
  }

 private:
  FieldReader fields_;
  bool ok_ = true;
};

bool is_kept(const Record& record) {
  return record.kind != Kind::kEvent && record.kind != Kind::kRetention && !record.is_withdrawn();
}

}  // namespace

LedgerCopy::LedgerCopy(const std::string& state_dir, const std::string& of)
    : path_(state_dir.empty() ? "" : state_dir + "/database-" + short_digest(of)) {}

Result<LedgerCopy::Contents> LedgerCopy::read() const {
  if (path_.empty()) return std::unexpected(Error{ErrorCode::kNotFound, "no copy is kept", ""});
  const auto bytes = read_sealed_file(path_, kPolicyCopyBytesMax);
  if (!bytes) return std::unexpected(bytes.error());
  Reader reader(*bytes);
  Contents contents;
  contents.revision = reader.number();
  contents.at_us = reader.number();
  while (!reader.at_end()) contents.documents.push_back(reader.record());
  if (reader.ok()) return contents;
  return std::unexpected(
      Error{ErrorCode::kFailedPrecondition, path_ + ": this version does not understand it", ""});
}

Result<void> LedgerCopy::write(const Contents& contents) const {
  std::string bytes;
  append_number(bytes, contents.revision);
  append_number(bytes, contents.at_us);
  for (const Record& record : contents.documents)
    if (is_kept(record)) append_record(bytes, record);
  if (bytes.size() > kPolicyCopyBytesMax)
    return std::unexpected(
        Error{ErrorCode::kUnavailable,
              path_ + ": it would have more than " + std::to_string(kPolicyCopyBytesMax >> 20) + " MiB", ""});
  return write_sealed_file(path_, bytes);
}

Result<void> LedgerCopy::replace(std::int64_t revision, std::span<const Record> documents) {
  if (path_.empty()) return {};
  news_.clear();
  revision_ = revision;
  at_us_ = 0;
  for (const Record& record : documents) at_us_ = std::max(at_us_, record.at_us);
  if (std::error_code unknown; documents.empty() && !std::filesystem::exists(path_, unknown)) return {};
  return write({revision_, at_us_, {documents.begin(), documents.end()}});
}

void LedgerCopy::note(std::span<const Record> records) {
  if (path_.empty()) return;
  for (const Record& record : records) {
    revision_ = record.revision;
    at_us_ = record.at_us;
    if (record.kind != Kind::kEvent) news_.insert_or_assign({record.kind, record.name}, record);
  }
}

Result<void> LedgerCopy::write_news() {
  auto contents = read();
  if (!contents && contents.error().code != ErrorCode::kNotFound) return std::unexpected(contents.error());
  if (!contents) contents.emplace();
  std::erase_if(contents->documents,
                [&](const Record& record) { return news_.contains({record.kind, record.name}); });
  for (const auto& [name, record] : news_) contents->documents.push_back(record);
  contents->revision = revision_;
  contents->at_us = at_us_;
  if (auto written = write(*contents); !written) return written;
  news_.clear();
  return {};
}

}  // namespace sluice::control

#include "control/ledger_copy.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/limits/control_limits.h"
#include "base/secret/sealed_file.h"
#include "base/try.h"

namespace sluice::control {
namespace {

using ledger::Kind;
using ledger::Record;

constexpr std::string_view kFormat = "sluice: all of a ledger, and its hash";
constexpr std::string_view kFormatWithoutHash = "sluice: all of a ledger";

Error no_whole_copy(const std::string& why) { return {ErrorCode::kFailedPrecondition, why, ""}; }

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

Record read_record(StrictFieldReader& reader) {
  Record record;
  const auto kind = ledger::kind_from(reader.text());
  if (!kind) reader.refuse();
  record.kind = kind.value_or(Kind::kEvent);
  record.name = reader.text();
  record.revision = reader.number();
  record.version = reader.number();
  record.at_us = reader.number();
  record.action = reader.text();
  record.actor = reader.text();
  record.reason = reader.text();
  record.body = reader.text();
  return record;
}

bool is_kept(const Record& record) {
  return record.kind != Kind::kEvent && record.kind != Kind::kRetention && !record.is_withdrawn();
}

}  // namespace

LedgerCopy::LedgerCopy(const std::string& state_dir, const std::string& of)
    : path_(state_dir.empty() ? "" : state_dir + "/database-" + short_digest(of)) {}

Result<LedgerCopy::Contents> LedgerCopy::read() const {
  if (path_.empty()) return std::unexpected(Error{ErrorCode::kNotFound, "no copy is kept", ""});
  const auto bytes = SLUICE_TRY(read_sealed_file(path_, kPolicyCopyBytesMax));
  StrictFieldReader reader(bytes);
  Contents contents;
  const std::string format = reader.text();
  const bool is_known = format == kFormat || format == kFormatWithoutHash;
  contents.revision = reader.number();
  contents.at_us = reader.number();
  const std::int64_t count = reader.number();
  if (format == kFormat) contents.hash = reader.text();
  while (is_known && !reader.at_end()) contents.documents.push_back(read_record(reader));
  if (!is_known || !reader.ok())
    return std::unexpected(no_whole_copy(path_ + ": this version of Sluice cannot read it"));
  if (const std::size_t found = contents.documents.size(); static_cast<std::int64_t>(found) != count)
    return std::unexpected(no_whole_copy(path_ + ": it is incomplete: it has " + std::to_string(found) +
                                         " of " + std::to_string(count) + " documents"));
  return contents;
}

Result<void> LedgerCopy::write(const Contents& contents) const {
  std::string bytes;
  append_field(bytes, kFormat);
  append_number(bytes, contents.revision);
  append_number(bytes, contents.at_us);
  append_number(bytes, std::ranges::count_if(contents.documents, is_kept));
  append_field(bytes, contents.hash);
  for (const Record& record : contents.documents)
    if (is_kept(record)) append_record(bytes, record);
  if (bytes.size() > kPolicyCopyBytesMax)
    return std::unexpected(
        Error{ErrorCode::kUnavailable,
              path_ + ": it would be larger than " + std::to_string(kPolicyCopyBytesMax >> 20) + " MiB", ""});
  return write_sealed_file(path_, bytes);
}

Result<void> LedgerCopy::replace(std::int64_t revision, std::string hash, std::span<const Record> documents) {
  if (path_.empty()) return {};
  news_.clear();
  whole_up_to_.reset();
  is_left_out_ = false;
  revision_ = revision;
  hash_ = std::move(hash);
  at_us_ = 0;
  for (const Record& record : documents) at_us_ = std::max(at_us_, record.at_us);
  std::error_code unknown;
  is_left_out_ = documents.empty() && !std::filesystem::exists(path_, unknown);
  if (!is_left_out_) SLUICE_TRY(write({revision_, at_us_, hash_, {documents.begin(), documents.end()}}));
  whole_up_to_ = revision_;
  return {};
}

void LedgerCopy::note(std::span<const Record> records) {
  if (path_.empty()) return;
  for (const Record& record : records) {
    revision_ = record.revision;
    at_us_ = record.at_us;
    hash_ = record.hash;
    if (record.kind != Kind::kEvent) news_.insert_or_assign({record.kind, record.name}, record);
  }
}

// The file, if it and the new records together are complete. Another process that shares the folder may have
// written a newer file.
Result<LedgerCopy::Contents> LedgerCopy::read_whole() const {
  if (!whole_up_to_) return std::unexpected(no_whole_copy(path_ + ": it could not be written"));
  auto contents = read();
  if (!contents && contents.error().code == ErrorCode::kNotFound && is_left_out_)
    return Contents{.revision = *whole_up_to_};
  if (!contents && contents.error().code == ErrorCode::kNotFound)
    return std::unexpected(no_whole_copy(path_ + ": it no longer exists"));
  if (contents && contents->revision < *whole_up_to_)
    return std::unexpected(no_whole_copy(path_ + ": it is an older one"));
  return contents;
}

Result<void> LedgerCopy::write_news() {
  auto contents = SLUICE_TRY(read_whole());
  std::erase_if(news_, [&](const auto& each) { return each.second.revision <= contents.revision; });
  std::erase_if(contents.documents,
                [&](const Record& record) { return news_.contains({record.kind, record.name}); });
  for (const auto& [name, record] : news_) contents.documents.push_back(record);
  if (revision_ > contents.revision) {
    contents.revision = revision_;
    contents.at_us = at_us_;
    contents.hash = hash_;
    SLUICE_TRY(write(contents));
  }
  whole_up_to_ = contents.revision;
  is_left_out_ = false;
  news_.clear();
  return {};
}

}  // namespace sluice::control

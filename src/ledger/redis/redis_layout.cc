#include "ledger/redis/redis_layout.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text/encode.h"
#include "ledger/chain.h"
#include "ledger/record_row.h"

namespace sluice::ledger {
namespace {

constexpr std::size_t kFields = 12;  // of Record

// Removes a number from the front of `text`.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take_letter(std::string_view& text, char letter) {
  if (!text.starts_with(letter)) return false;
  text.remove_prefix(1);
  return true;
}

void append_field(std::string& out, std::string_view bytes) {
  out += std::to_string(bytes.size());
  out += ':';
  out += bytes;
  out += ',';
}

std::optional<std::string_view> take_field(std::string_view& text) {
  const auto size = take_number(text);
  if (!size || *size < 0 || !take_letter(text, ':') || static_cast<std::size_t>(*size) > text.size())
    return std::nullopt;
  const std::string_view bytes = text.substr(0, static_cast<std::size_t>(*size));
  text.remove_prefix(bytes.size());
  if (!take_letter(text, ',')) return std::nullopt;
  return bytes;
}

// The fields of a record, for record_from().
struct RedisRow {
  std::array<std::string_view, kFields> fields;

  std::int64_t get_number(std::size_t column) const { return read_numbers(fields[column]).first; }
  std::string get_text(std::size_t column) const { return std::string(fields[column]); }
};

std::optional<RedisRow> read_row(std::string_view bytes) {
  RedisRow row;
  for (std::string_view& field : row.fields) {
    const auto taken = take_field(bytes);
    if (!taken) return std::nullopt;
    field = *taken;
  }
  if (!bytes.empty()) return std::nullopt;
  return row;
}

}  // namespace

std::string record_field(std::int64_t revision) { return "r" + std::to_string(revision); }

std::string document_name(Kind kind, std::string_view name) {
  return std::string(to_string(kind)).append(":").append(name);
}

std::string newest_field(std::string_view document) { return std::string("n").append(document); }

std::string version_field(Kind kind, std::string_view name, std::int64_t version) {
  return "v" + std::to_string(version) + ":" + document_name(kind, name);
}

std::string request_field(std::string_view actor, std::string_view request_id) {
  return ("q" + std::to_string(actor.size()) + ":").append(actor).append(request_id);
}

std::string Head::text() const { return revision == 0 ? "" : std::to_string(revision) + " " + to_hex(hash); }

std::optional<Head> read_head(std::string_view text) {
  if (text.empty()) return Head{};
  const auto revision = take_number(text);
  if (!revision || *revision <= 0 || !take_letter(text, ' ') || text.size() != 2 * kHashBytes)
    return std::nullopt;
  Head head{.revision = *revision, .hash = {}};
  for (; !text.empty(); text.remove_prefix(2)) {
    unsigned byte = 0;
    if (std::from_chars(text.data(), text.data() + 2, byte, 16).ptr != text.data() + 2) return std::nullopt;
    head.hash.push_back(static_cast<char>(byte));
  }
  return head;
}

RedisNumbers read_numbers(std::string_view text) {
  RedisNumbers numbers;
  for (std::int64_t* each : {&numbers.first, &numbers.second, &numbers.third}) {
    *each = take_number(text).value_or(0);
    take_letter(text, ' ');
  }
  return numbers;
}

Listing read_listing(std::string_view document, std::string_view newest) {
  const std::size_t colon = std::min(document.find(':'), document.size());
  const RedisNumbers numbers = read_numbers(newest);
  return {std::string(document.substr(0, colon)),
          std::string(document.substr(std::min(colon + 1, document.size()))), numbers.first,
          numbers.second != 0, numbers.third};
}

std::string encode(const Record& record) {
  std::string out;
  append_field(out, std::to_string(record.revision));
  append_field(out, to_string(record.kind));
  append_field(out, record.name);
  append_field(out, std::to_string(record.version));
  append_field(out, record.action);
  append_field(out, record.body);
  append_field(out, record.actor);
  append_field(out, record.reason);
  append_field(out, std::to_string(record.at_us));
  append_field(out, record.request_id);
  append_field(out, record.body_hash);
  append_field(out, record.hash);
  return out;
}

Result<Record> decode(std::int64_t revision, std::string_view bytes) {
  const auto row = read_row(bytes);
  if (row) return record_from(*row);
  return std::unexpected(Error{
      ErrorCode::kFailedPrecondition,
      "revision " + std::to_string(revision) + ": it cannot be read; was the database changed by hand?", ""});
}

}  // namespace sluice::ledger

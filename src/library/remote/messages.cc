#include "library/remote/messages.h"

#include <algorithm>

#include "engine/decision/reason_names.h"

namespace sluice::remote {
namespace {

using net::WireReader;
using net::WireWriter;

// The words of the server, which live as long as the program.
std::string_view known_reason(std::string_view reason) {
  const auto* known = std::ranges::find(kReasonNames, reason);
  return known == kReasonNames.end() ? "other" : *known;
}

std::string quota_name(WireReader quota) {
  std::string name;
  while (quota.next())
    if (quota.field() == 1) name = quota.string();
  return name;
}

}  // namespace

void write_check(std::string& out, std::string_view subject, std::optional<std::int64_t> cost,
                 std::string_view request_id) {
  out.append(subject);
  WireWriter writer(out);
  if (cost) writer.present_uint64(3, static_cast<std::uint64_t>(*cost));
  writer.string(4, request_id);
}

void write_lease(std::string& out, std::string_view subject, std::int64_t want, std::string_view request_id) {
  write_check(out, subject, want, request_id);  // `want` is in the place of the cost
}

void write_return(std::string& out, std::string_view lease_id, std::int64_t unused) {
  WireWriter writer(out);
  writer.string(1, lease_id);
  writer.int64(2, unused);
}

void write_reset(std::string& out, const Request& request) {
  net::append_wire(out, subject_room(request), [&](net::WireCursor& cursor) {
    cursor.string(1, request.policy_id);
    if (!request.key.empty()) write_dimension(cursor, "key", request.key);
    for (const auto& [name, value] : request.dimensions) write_dimension(cursor, name, value);
    cursor.string(3, request.tenant);
    cursor.string(4, request.resource);
    cursor.boolean(6, true);  // not those that others share
  });
}

std::optional<CheckAnswer> read_check(std::string_view message, TermsBook& book, std::int64_t now_unix_ms) {
  CheckAnswer read;
  Answer& answer = read.answer;
  LeaseTerms terms;
  std::int64_t reset_unix_ms = 0, retry_after_ms = 0;
  WireReader reader(message);
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        answer.allowed = reader.boolean();
        break;
      case 2:
        answer.remaining = reader.int32();
        break;
      case 3:
        reset_unix_ms = reader.int64();
        break;
      case 4:
        retry_after_ms = reader.int32();
        break;
      case 5:
        terms.policy_version = reader.string();
        break;
      case 6:
        terms.limit_name = quota_name(reader.message());
        break;
      case 7:
        terms.limit = reader.int64();
        break;
      case 11:
        answer.reason = known_reason(reader.string());
        break;
      case 12:
        answer.degraded = reader.boolean();
        break;
      case 16:
        read.lease_advised = reader.boolean();
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return std::nullopt;
  // -1 says that no limit applied; here that is 0.
  terms.limit = std::max<std::int64_t>(terms.limit, 0);
  answer.remaining = std::max<std::int64_t>(answer.remaining, 0);
  answer.retry_after = std::chrono::milliseconds(retry_after_ms);
  answer.reset_after = std::chrono::milliseconds(std::max<std::int64_t>(reset_unix_ms - now_unix_ms, 0));
  const LeaseTerms& kept = *book.keep(std::move(terms));
  answer.limit = kept.limit;
  answer.limit_name = kept.limit_name;
  answer.policy_version = kept.policy_version;
  return read;
}

std::optional<LeaseRead> read_lease(std::string_view message) {
  LeaseRead read;
  LeaseAnswer& answer = read.answer;
  WireReader reader(message);
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        answer.lease_id = reader.string();
        break;
      case 2:
        answer.granted = std::max(reader.int32(), 0);
        break;
      case 4:
        answer.refresh_after_us = std::int64_t{std::max(reader.int32(), 0)} * 1000;
        break;
      case 5:
        answer.safe_capacity = std::max(reader.int32(), 0);
        break;
      case 6:
        answer.retry_after_us = std::int64_t{reader.int32()} * 1000;
        break;
      case 7:
        read.terms.policy_version = reader.string();
        break;
      case 8:
        answer.expires_after_us = std::int64_t{std::max(reader.int32(), 0)} * 1000;
        break;
      case 10:
        read.terms.check_cost = std::max(reader.int64(), std::int64_t{0});
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return std::nullopt;
  return read;
}

std::optional<int> read_reset(std::string_view message) {
  int counters = 0;
  WireReader reader(message);
  while (reader.next())
    if (reader.field() == 1) counters = reader.int32();
  if (!reader.ok()) return std::nullopt;
  return counters;
}

}  // namespace sluice::remote

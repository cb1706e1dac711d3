#include <string>
#include <string_view>
#include <vector>

#include "document/literals.h"
#include "doors/text.h"
#include "plan/report/report.h"

namespace sluice::plan {
namespace {

// Writes JSON sequentially and puts the commas. Not thread-safe.
class JsonText {
 public:
  JsonText& open(char bracket) {
    comma();
    text_ += bracket;
    return *this;
  }
  JsonText& close(char bracket) {
    text_ += bracket;
    return *this;
  }
  JsonText& name(std::string_view name) {
    comma();
    doors::append_json_string(text_, name);
    text_ += ':';
    return *this;
  }
  JsonText& value(std::string_view text) {
    comma();
    doors::append_json_string(text_, text);
    return *this;
  }
  JsonText& value(std::uint64_t number) {
    comma();
    text_ += std::to_string(number);
    return *this;
  }
  template <class T>
  JsonText& member(std::string_view member_name, const T& member_value) {
    return name(member_name).value(member_value);
  }
  JsonText& instant(std::string_view member_name, std::int64_t us) {
    return member(member_name, std::string_view(instant_text(us)));
  }
  template <class List, class Write>
  JsonText& list(std::string_view member_name, const List& items, Write&& write) {
    name(member_name).open('[');
    for (const auto& item : items) write(item);
    return close(']');
  }
  std::string take() { return std::move(text_) + '\n'; }

 private:
  void comma() {
    if (!text_.empty() && !std::string_view("{[:").contains(text_.back())) text_ += ',';
  }
  std::string text_;
};

void write_happened(const Happened& happened, JsonText& json) {
  json.member("denied", happened.denied).member("newly_denied", happened.newly_denied);
  json.instant("first", happened.first_us).instant("last", happened.last_us);
}

void write_peak(std::string_view name, const Peak& peak, JsonText& json) {
  json.name(name).open('{').member("amount", peak.amount).instant("from", peak.begin_us).close('}');
}

void write_lines(const Report& report, JsonText& json) {
  json.name("lines").open('{').member("all", report.lines.lines).member("blank", report.lines.blank);
  json.member("without_request", report.lines.without_request).member("bad", report.lines.bad);
  json.member("out_of_order", report.disorder.late);
  json.member("out_of_order_by_us", static_cast<std::uint64_t>(report.disorder.latest_by_us));
  json.list("first_bad", report.lines.first_bad, [&](const BadLine& bad) {
    json.open('{').member("log", std::string_view(bad.log)).member("line", bad.number);
    json.member("reason", std::string_view(bad.reason)).close('}');
  });
  json.close('}');
}

void write_totals(const Totals& totals, JsonText& json) {
  json.name("totals").open('{').member("requests", totals.requests).member("no_policy", totals.no_policy);
  json.member("refused", totals.refused).member("allowed", totals.allowed).member("denied", totals.denied);
  json.member("denied_then", totals.denied_then).member("newly_denied", totals.newly_denied);
  json.member("newly_allowed", totals.newly_allowed);
  json.instant("first", totals.first_us).instant("last", totals.last_us).close('}');
}

void write_rows(const Report& report, JsonText& json) {
  json.list("limits", report.limits, [&](const ReportLimit& row) {
    json.open('{')
        .member("policy_id", std::string_view(row.policy))
        .member("limit", std::string_view(row.limit));
    json.member("allows", std::string_view(row.allows)).member("keys", row.keys);
    write_happened(row.happened, json);
    write_peak("worst_second", row.worst_second, json);
    write_peak("worst_minute", row.worst_minute, json);
    json.close('}');
  });
  json.member("keys_denied", report.keys_denied);
  json.list("keys", report.keys, [&](const ReportKey& row) {
    json.open('{')
        .member("key", std::string_view(row.label))
        .member("policy_id", std::string_view(row.policy));
    json.member("limit", std::string_view(row.limit)).member("rate", std::string_view(row.rate));
    write_happened(row.happened, json);
    write_peak("peak", row.asked, json);
    json.close('}');
  });
  json.member("resources_denied", report.resources_denied);
  json.list("resources", report.resources, [&](const ReportResource& row) {
    json.open('{').member("resource", std::string_view(row.resource)).member("requests", row.tally.requests);
    json.member("denied", row.tally.denied).member("newly_denied", row.tally.newly_denied).close('}');
  });
  json.list("shadow", report.shadows, [&](const ReportShadow& row) {
    json.open('{').member("policy_id", std::string_view(row.policy));
    json.member("would_deny", row.would_deny).close('}');
  });
}

void write_timeline(const Timeline& timeline, JsonText& json) {
  json.name("timeline").open('{').instant("from", timeline.begin_us());
  json.member("bucket_ms", static_cast<std::uint64_t>(timeline.width_us() / 1000));
  json.list("buckets", timeline.buckets(), [&](const Timeline::Bucket& bucket) {
    json.open('[').value(bucket.requests).value(bucket.denied).value(bucket.newly_denied).close(']');
  });
  json.close('}');
}

}  // namespace

std::string to_json(const Report& report) {
  JsonText json;
  const auto write_text = [&](const std::string& text) { json.value(std::string_view(text)); };
  json.open('{').list("logs", report.logs, write_text).list("policies", report.policies, write_text);
  json.list("against", report.against, write_text);
  json.member("verdict", std::string_view(verdict_text(report)));
  json.member("keys_newly_denied", report.newly_denied.keys);
  write_lines(report, json);
  write_totals(report.totals, json);
  write_rows(report, json);
  write_timeline(report.timeline, json);
  json.list("notes", report.notes, write_text).close('}');
  return json.take();
}

}  // namespace sluice::plan

#include "server/audit_events.h"

#include <utility>

#include "document/document_builder.h"
#include "document/document_text.h"

namespace sluice::server {
namespace {

struct Event {
  std::string name, action, actor, reason;
  DocumentNode body;
};

ledger::Change change_of(Event event, std::int64_t now_us) {
  std::string text;
  append_json(event.body, text);
  return {.drafts = {{.kind = ledger::Kind::kEvent,
                      .name = std::move(event.name),
                      .action = std::move(event.action),
                      .body = std::move(text),
                      .expected_version = std::nullopt}},
          .actor = std::move(event.actor),
          .reason = std::move(event.reason),
          .at_us = now_us,
          .request_id = ""};
}

}  // namespace

ledger::Change reset_event(const doors::ResetReport& report, std::int64_t now_us) {
  DocumentNode body = map_node();
  put_text(body, "policy_id", report.policy_id);
  put_text(body, "tenant_id", report.tenant);
  put_text(body, "resource", report.resource);
  put(body, "counters", number_node(report.counters));
  put(body, "address", text_node(report.address));
  const std::string& what = report.policy_id.empty() ? report.tenant : report.policy_id;
  return change_of({what.empty() ? "*" : what, "reset", report.actor, report.reason, std::move(body)},
                   now_us);
}

ledger::Change move_event(const Relocation& moved, std::int64_t now_us) {
  DocumentNode body = map_node();
  put(body, "from", text_node(moved.from->name));
  put(body, "to", text_node(moved.to->name));
  put(body, "counters", text_node(moved.starts_anew ? "reset" : "keep"));
  return change_of({moved.tenant, "move", "cells file", "", std::move(body)}, now_us);
}

ledger::Change refusal_event(const std::string& why, std::int64_t now_us) {
  DocumentNode body = map_node();
  put(body, "problem", text_node(why));
  return change_of({"policy-database", "refused", "node", "", std::move(body)}, now_us);
}

}  // namespace sluice::server

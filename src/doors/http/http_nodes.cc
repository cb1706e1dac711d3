// GET /v1/nodes?tenant_id=&policy_id=
//
//   {"nodes":[{"name":"web-1:8080","id":"7f3a…","version":"0.9.0","started_at":"2026-11-18T09:00:00Z",
//              "seen_at":"2026-11-18T20:00:00Z","counted_at":"2026-11-18T19:59:59.25Z","is_self":true,
//              "ready":true,"draining":false,"degraded":false,"problems":[],
//              "policies":[{"policy_id":"api.read","allowed":812,"denied":12,"degraded":0}],
//              "admin":"10.0.0.7:9090","threads":4,"connected":4,
//              "checks":{"allowed":900,"denied":15,"degraded":0,"no_policy":3},
//              "latency":{"bounds_us":[50,100,…],"counts":[800,90,…],"sum_us":40000}}],
//    "problem":""}
#include <optional>
#include <utility>

#include "base/time_units.h"
#include "document/literals.h"
#include "doors/access/caller.h"
#include "doors/access/policy_access.h"
#include "doors/handlers.h"
#include "doors/http/fields/check_field.h"
#include "doors/http/fields/query_string.h"
#include "doors/http/problem.h"
#include "doors/nodes_seam.h"
#include "doors/text.h"

namespace sluice::doors {
namespace {

using control::Principal;
using control::Role;

struct NodesWanted {
  std::optional<std::string> tenant_id, policy_id;
};

Result<NodesWanted> read_nodes_query(std::string_view query, std::string& scratch) {
  scratch.clear();
  scratch.reserve(query.size());
  NodesWanted wanted;
  QueryReader reader(query, scratch);
  while (reader.next()) {
    const std::string name(reader.name());
    std::optional<std::string>* const into = name == "tenant_id"   ? &wanted.tenant_id
                                             : name == "policy_id" ? &wanted.policy_id
                                                                   : nullptr;
    if (!into) return invalid(name, "not a parameter here; tenant_id and policy_id are");
    if (*into) return given_twice(name);
    *into = std::string(reader.value());
  }
  if (!reader.ok()) return invalid("", "the query is malformed");
  return wanted;
}

// Writes what one caller may see. A caller who is limited to some tenants sees that the nodes are there, and
// the numbers of policies that belong to these tenants, and nothing that others add to.
class NodesText {
 public:
  NodesText(const Engine::Hold& policies, const Principal& principal, NodesWanted wanted, std::string& out)
      : policies_(policies), principal_(principal), wanted_(std::move(wanted)), out_(out) {}

  void write(const NodesSeen& seen) {
    out_.append("{\"nodes\":[");
    bool is_first = true;
    for (const NodeSeen& node : seen.nodes) {
      if (!std::exchange(is_first, false)) out_.push_back(',');
      write_node(node);
    }
    out_.append("],\"problem\":");
    append_json_string(out_,
                       sees_all() || seen.problem.empty() ? seen.problem : "other nodes may be missing");
    out_.append("}\n");
  }

 private:
  bool sees_all() const { return principal_.tenants.empty(); }
  void text(const char* name, std::string_view value) {
    out_.append(",\"").append(name).append("\":");
    append_json_string(out_, value);
  }
  void truth(const char* name, bool value) {
    out_.append(",\"").append(name).append(value ? "\":true" : "\":false");
  }
  void number(const char* name, std::uint64_t value) {
    out_.append(",\"").append(name).append("\":").append(std::to_string(value));
  }
  void counts(const NodeReport::Counts& checks) {
    out_.append("\"allowed\":").append(std::to_string(checks.allowed));
    number("denied", checks.denied);
    number("degraded", checks.degraded);
  }

  void write_node(const NodeSeen& node) {
    const NodeReport& report = node.report;
    out_.append("{\"name\":");
    append_json_string(out_, report.name);
    text("id", report.id);
    text("version", report.version);
    text("started_at", instant_text(report.started_us / kSecondUs * kSecondUs));
    text("seen_at", instant_text(node.seen_us / 1'000 * 1'000));
    text("counted_at", instant_text(report.counted_us / 1'000 * 1'000));
    truth("is_self", node.is_self);
    truth("ready", report.ready);
    truth("draining", report.draining);
    truth("degraded", report.degraded);
    write_problems(report);
    write_policies(report);
    if (sees_all()) write_whole_node(report);
    out_.push_back('}');
  }
  void write_problems(const NodeReport& report) {
    out_.append(",\"problems\":[");
    if (!sees_all() && !report.problems.empty())
      append_json_string(out_, "there are problems; use a token for all tenants to see them");
    for (std::size_t i = 0; sees_all() && i < report.problems.size(); ++i) {
      if (i > 0) out_.push_back(',');
      append_json_string(out_, report.problems[i]);
    }
    out_.push_back(']');
  }
  void write_policies(const NodeReport& report) {
    out_.append(",\"policies\":[");
    bool is_first = true;
    for (const NodeReport::Policy& policy : report.policies) {
      if (!may_show(policy.id)) continue;
      if (!std::exchange(is_first, false)) out_.push_back(',');
      out_.append("{\"policy_id\":");
      append_json_string(out_, policy.id);
      out_.push_back(',');
      counts(policy.checks);
      out_.push_back('}');
    }
    out_.push_back(']');
  }
  void write_whole_node(const NodeReport& report) {
    text("admin", report.admin);
    number("threads", static_cast<std::uint64_t>(report.loops));
    number("connected", static_cast<std::uint64_t>(report.connected));
    out_.append(",\"checks\":{");
    counts(report.checks);
    number("no_policy", report.no_policy);
    out_.append("},\"latency\":{\"bounds_us\":[");
    for (std::size_t i = 0; i < DurationHistogram::kBounds.size(); ++i)
      out_.append(i > 0 ? "," : "").append(std::to_string(DurationHistogram::kBounds[i] / 1'000));
    out_.append("],\"counts\":[");
    for (std::size_t i = 0; i < report.latency.counts.size(); ++i)
      out_.append(i > 0 ? "," : "").append(std::to_string(report.latency.counts[i]));
    out_.append("]");
    number("sum_us", report.latency.sum_ns / 1'000);
    out_.push_back('}');
  }
  // A policy that this node does not know may be anybody's.
  bool may_show(std::string_view id) const {
    if (wanted_.policy_id && *wanted_.policy_id != id) return false;
    if (!wanted_.tenant_id && sees_all()) return true;
    const CompiledPolicy* const policy = policies_.policies().find(id);
    if (!policy || policy->source.tenant.empty()) return false;
    if (wanted_.tenant_id && *wanted_.tenant_id != policy->source.tenant) return false;
    return sees_all() || principal_.sees_tenant(policy->source.tenant);
  }

  const Engine::Hold& policies_;
  const Principal& principal_;
  const NodesWanted wanted_;
  std::string& out_;
};

}  // namespace

Result<void> http_nodes(DoorContext& context, const Caller& caller, const HttpCall& call) {
  NodesWanted wanted = SLUICE_TRY(read_nodes_query(call.request.query, context.scratch));
  Principal principal = SLUICE_TRY(caller.reader());
  if (wanted.tenant_id) SLUICE_TRY(principal.may(Role::kRead, *wanted.tenant_id));
  if (wanted.policy_id) SLUICE_TRY(may_read_policy(context, principal, *wanted.policy_id));
  const auto text = [&context](const Principal& who, NodesWanted what, const NodesSeen& seen) {
    std::string body;
    const Engine::Hold policies = context.engine.hold();
    NodesText(policies, who, std::move(what), body).write(seen);
    return body;
  };
  if (!context.nodes) {
    call.reply.response.body = text(principal, std::move(wanted), {});
    return {};
  }
  const auto later = std::make_shared<net::HttpReply::Later>();
  const bool is_taken = context.nodes->look([=](NodesSeen&& seen) {
    net::HttpResponse response;
    response.body = text(principal, wanted, seen);
    response.headers.emplace_back("cache-control", "no-store");
    (*later)(std::move(response));
  });
  if (!is_taken) return std::unexpected(NodesSeam::busy());
  *later = call.reply.later();
  return {};
}

}  // namespace sluice::doors

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/text/encode.h"
#include "base/time_units.h"
#include "cli/client/api_client.h"
#include "cli/command.h"
#include "cli/output/output.h"
#include "document/document_builder.h"
#include "document/literals.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kIndent = 9;  // "policy   "

struct WhyOptions {
  ClientOptions client;
  std::string tenant, key, policy, at;
  Output output = Output::kTable;
};

std::string decisions_path(const WhyOptions& options, std::string_view result) {
  std::string path =
      fmt::format("/v1/decisions?limit=1&result={}&key={}", result, percent_encode(options.key));
  if (!options.tenant.empty()) path += "&tenant_id=" + percent_encode(options.tenant);
  if (!options.policy.empty()) path += "&policy_id=" + percent_encode(options.policy);
  if (!options.at.empty()) path += "&until=" + percent_encode(options.at);
  return path;
}

// The latest denial or, if none is remembered, the latest other decision.
std::optional<DocumentNode> find_decision(const WhyOptions& options, const ApiClient& client) {
  for (const std::string_view result : {"denied", ""}) {
    const DocumentNode answer = client.call({.path = decisions_path(options, result)});
    const DocumentNode* const decisions = answer.find("decisions");
    if (!decisions)
      throw CommandError("the answer has no decisions: is this a Sluice server of this version?");
    if (!decisions->items.empty()) return decisions->items.front();
  }
  return std::nullopt;
}

// How much of its limits is used now; nullopt: a policy that is gone, or names that the server does not show.
std::optional<DocumentNode> find_usages(const WhyOptions& options, const DocumentNode& decision,
                                        const ApiClient& client) {
  std::string path = "/v1/usage?key=" + percent_encode(options.key);
  for (const auto& [parameter, field] :
       {std::pair{"tenant_id", "tenant_id"}, {"policy_id", "policy_id"}, {"resource", "resource"}})
    if (const std::string value = text_of(decision, field); !value.empty())
      path += fmt::format("&{}={}", parameter, percent_encode(value));
  if (const DocumentNode* const dimensions = decision.find("dimensions"))
    for (std::size_t i = 0; i < dimensions->items.size(); ++i) {
      const std::string& name = dimensions->keys[i].text;
      if (name != "key" && name != "tenant" && name != "resource")
        path += fmt::format("&{}={}", percent_encode(name), percent_encode(dimensions->items[i].text));
    }
  const HttpAnswer answer = client.send({.path = path});
  if (answer.status != 200) return std::nullopt;
  const DocumentNode read = client.read(answer);
  const DocumentNode* const usages = read.find("usages");
  return usages ? std::optional(*usages) : std::nullopt;
}

std::string what_happened(const DocumentNode& decision) {
  const std::string reason = text_of(decision, "reason");
  const std::string cost = text_of(decision, "cost");
  if (reason == "limited") return fmt::format("the limit had no room for a cost of {}", cost);
  if (reason == "never") return fmt::format("a cost of {} is more than the limit ever holds", cost);
  if (reason == "store_unavailable") return "the store did not answer; on_failure of the policy decided";
  if (reason == "store_full") return "the store had no memory for the counter; on_failure decided";
  if (reason == "tenant_moving") return "the tenant's counters were being moved to another store";
  if (reason == "policies_unavailable") return "no policies were known yet; --before-policies decided";
  if (reason == "switch") return "the big red switch was open: everything passes";
  if (reason == "no_policy") return "no policy matches such a check";
  if (reason == "no_limit") return "the check lacked the dimensions that the limits count by";
  if (reason == "shadow") return "allowed, but a policy in shadow mode would have denied it";
  return "the limits had room";
}

std::string moment_after(const DocumentNode& decision, std::int64_t ms) {
  const auto at_us = parse_instant_us(text_of(decision, "at"));
  return at_us ? instant_text((*at_us + ms * 1000) / kSecondUs * kSecondUs) : "";
}

// What would have changed the answer.
std::vector<std::string> remedies(const DocumentNode& decision) {
  if (text_of(decision, "allowed") == "true") return {};
  const std::string reason = text_of(decision, "reason"), limit = text_of(decision, "limit"),
                    policy = text_of(decision, "policy_id");
  const std::int64_t wait_ms = number_of(decision, "retry_after_ms");
  if (reason == "limited")
    return {fmt::format("waiting {} ms, until {}", wait_ms, moment_after(decision, wait_ms + 999)),
            fmt::format("a larger rate or burst of the limit {} in policy {}", limit, policy),
            "an override or a tier with larger numbers, where the limit counts users"};
  if (reason == "never")
    return {fmt::format("a cost of at most {}", text_of(decision, "capacity")),
            fmt::format("a larger burst of the limit {} in policy {}", limit, policy), "not: waiting"};
  if (reason == "store_unavailable" || reason == "store_full")
    return {"a store that answers: see /readyz of the node", "on_failure: open or local in the policy"};
  return {"trying again in a moment"};
}

// A line of at most kColumns, or several, broken between words where there are any.
void add_line(std::string& text, std::string_view name, std::string_view value) {
  std::string line(name);
  line.resize(kIndent, ' ');
  while (kIndent + value.size() > kColumns) {
    std::size_t end = value.rfind(' ', kColumns - kIndent);
    if (end == value.npos || end == 0) end = kColumns - kIndent;
    text.append(line).append(value.substr(0, end)).append(1, '\n');
    value.remove_prefix(end);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    line.assign(kIndent, ' ');
  }
  text.append(line).append(value).append(1, '\n');
}

std::string why_text(const DocumentNode& decision, const std::optional<DocumentNode>& usages) {
  std::string text;
  const bool allowed = text_of(decision, "allowed") == "true";
  const std::string limit = text_of(decision, "limit"), policy = text_of(decision, "policy_id"),
                    tenant = text_of(decision, "tenant_id");
  add_line(text, allowed ? "allowed" : "denied",
           fmt::format("{}, node {}", text_of(decision, "at"), text_of(decision, "node")));
  add_line(text, "key", text_of(decision, "key") + (tenant.empty() ? "" : " of tenant " + tenant));
  if (!policy.empty())
    add_line(text, "policy", fmt::format("{}, version {}", policy, text_of(decision, "policy_version")));
  if (!limit.empty())
    add_line(text, "limit",
             fmt::format("{}: {} of {} were left, the cost was {}", limit, text_of(decision, "remaining"),
                         text_of(decision, "capacity"), text_of(decision, "cost")));
  add_line(text, "reason", fmt::format("{}: {}", text_of(decision, "reason"), what_happened(decision)));
  std::string_view name = "helps";
  for (const std::string& remedy : remedies(decision)) add_line(text, std::exchange(name, ""), remedy);
  name = "now";
  if (usages)
    for (const DocumentNode& usage : usages->items) {
      const DocumentNode* const quota = usage.find("quota");
      add_line(text, std::exchange(name, ""),
               fmt::format("{}: {} used, {} left", quota ? text_of(*quota, "name") : "",
                           text_of(usage, "current"), text_of(usage, "remaining")));
    }
  return text;
}

DocumentNode why_document(const DocumentNode& decision, const std::optional<DocumentNode>& usages) {
  DocumentNode why = map_node();
  put(why, "decision", decision);
  put(why, "explanation", text_node(what_happened(decision)));
  DocumentNode helps = list_node();
  for (const std::string& remedy : remedies(decision)) helps.items.push_back(text_node(remedy));
  put(why, "helps", std::move(helps));
  put(why, "usages_now", usages ? *usages : null_node());
  return why;
}

int print_why(const WhyOptions& options) {
  const SystemClock clock;
  const ApiClient client(options.client, clock);
  const std::optional<DocumentNode> decision = find_decision(options, client);
  if (!decision)
    throw CommandError(
        "no such decision is remembered: denials are kept up to a rate, others as a sample, for as long as "
        "--decisions-mib of the server suffices",
        kExitDenied);
  const std::optional<DocumentNode> usages = find_usages(options, *decision, client);
  if (options.output == Output::kTable)
    fmt::print("{}", why_text(*decision, usages));
  else
    fmt::print("{}", document_output(why_document(*decision, usages), options.output));
  return kExitOk;
}

}  // namespace

void add_why(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<WhyOptions>();
  CLI::App* command =
      app.add_subcommand("why", "Why a key was denied: the rule, its version, and what helps");
  add_server_options(*command, options->client);
  command->add_option("--key", options->key, "the user, address or API key")->required();
  command->add_option("--tenant", options->tenant, "only of this tenant");
  command->add_option("--policy", options->policy, "only by this policy");
  command->add_option("--at", options->at, "the last decision up to this time, as 2027-01-15T03:00:00Z");
  add_output_option(*command, options->output);
  command->footer(
      "Example:\n  sluice why --tenant shop --key user_123\n\nExit status: 1 if no such decision is "
      "remembered.");
  command->callback([options, &exit_code] { exit_code = print_why(*options); });
}

}  // namespace sluice::cli

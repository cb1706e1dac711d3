#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text/encode.h"
#include "base/text/number_text.h"
#include "base/time_units.h"
#include "cli/admin/expiry.h"
#include "cli/client/api_client.h"
#include "cli/command.h"
#include "cli/output/output.h"
#include "cli/output/words.h"
#include "document/document_builder.h"
#include "document/literals.h"

namespace sluice::cli {
namespace {

struct UserOptions {
  ClientOptions server;
  std::string id, tenant, policy, limit, tier;
  bool no_tier = false;
  std::string rate, expires;
  std::optional<std::int64_t> burst;
  Output output = Output::kTable;
};

std::string path_of(const UserOptions& options, std::string_view what) {
  return fmt::format("/api/v1/users/{}/{}", percent_encode(options.id), what);
}

DocumentNode call(const UserOptions& options, const ApiCall& call) {
  const SystemClock clock;
  return ApiClient(options.server, clock).call(call);
}

// All pages of a list, as one answer.
DocumentNode all_pages(const UserOptions& options, const std::string& path, std::string_view name) {
  DocumentNode all = map_node();
  for (std::string after;;) {
    const std::string page_path =
        after.empty()
            ? path
            : fmt::format("{}{}after={}", path, path.contains('?') ? '&' : '?', percent_encode(after));
    DocumentNode page = call(options, {.path = page_path});
    after = optional_text_of(page, "next");
    const std::vector<DocumentNode>& items = list_of(page, name);
    if (all.items.empty()) {
      all = std::move(page);
      take(all, "next");
    } else {
      auto& list = all.items[static_cast<std::size_t>(all.find(name) - all.items.data())].items;
      list.insert(list.end(), items.begin(), items.end());
    }
    if (after.empty()) return all;
  }
}

std::string whole(const DocumentNode& map, std::string_view field) {
  return grouped(static_cast<std::uint64_t>(number_of(map, field)));
}

// Whether the limit applies to the user now: "yes", "no", or what it depends on.
std::string applies_words(const DocumentNode& limit) {
  const std::string applies = optional_text_of(limit, "applies");
  if (applies.empty()) return "it depends";
  if (applies == "false") return "not now";
  return text_of(limit, "shadow") == "true" ? "shadow" : "yes";
}

Table limits_table(const DocumentNode& answer) {
  Table table{{"POLICY", "LIMIT", "PER", "RATE", "BURST", "FROM", "UNTIL", "APPLIES"}, {}};
  for (const DocumentNode& limit : list_of(answer, "limits")) {
    std::vector<std::string> per;
    for (const DocumentNode& name : list_of(limit, "per")) per.push_back(name.text);
    const std::string until = optional_text_of(limit, "expires_at");
    table.rows.push_back({text_of(limit, "policy_id"), text_of(limit, "limit_name"), per_words(per),
                          rate_words(text_of(limit, "rate")), whole(limit, "burst"), text_of(limit, "source"),
                          until.empty() ? "-" : instant_words(until), applies_words(limit)});
  }
  return table;
}

std::string override_words(const DocumentNode& own) {
  const std::string until = optional_text_of(own, "expires_at");
  return fmt::format("{}/{} {}{}", text_of(own, "policy_id"), text_of(own, "limit"),
                     rate_words(text_of(own, "rate")), until.empty() ? "" : " until " + instant_words(until));
}

// "gold", "gold (shop)"
std::string tier_words(const DocumentNode& agreed) {
  std::vector<std::string> tiers;
  if (const std::string everywhere = optional_text_of(agreed, "tier"); !everywhere.empty())
    tiers.push_back(everywhere);
  if (const DocumentNode* const own = agreed.find("tenant_tiers"))
    for (std::size_t i = 0; i < own->items.size(); ++i)
      tiers.push_back(fmt::format("{} ({})", own->items[i].text, own->keys[i].text));
  return tiers.empty() ? "-" : fmt::format("{}", fmt::join(tiers, ", "));
}

// A row for each override; what the rows of a user share is said once.
void add_rows(const std::string& user, const DocumentNode& agreed, Table& table) {
  std::vector<std::string> row = {user, tier_words(agreed)};
  const DocumentNode* const overrides = agreed.find("overrides");
  if (!overrides || overrides->items.empty()) {
    row.insert(row.end(), {"-", "-", "-", "-"});
    table.rows.push_back(std::move(row));
    return;
  }
  for (const DocumentNode& own : overrides->items) {
    const std::string until = optional_text_of(own, "expires_at");
    row.insert(row.end(), {text_of(own, "policy_id"), text_of(own, "limit"), rate_words(text_of(own, "rate")),
                           until.empty() ? "-" : instant_words(until)});
    table.rows.push_back(std::exchange(row, {"", ""}));
  }
}

// What is agreed with the user after a change.
int print_agreed(const UserOptions& options, const DocumentNode& answer) {
  print_result(options.output, answer, [&] {
    const DocumentNode& agreed = member_of(answer, "agreed");
    std::string text = fmt::format("{}: tier {}", options.id, tier_words(agreed));
    if (const DocumentNode* const overrides = agreed.find("overrides"))
      for (const DocumentNode& own : overrides->items) text += "\n  " + override_words(own);
    return text + '\n';
  });
  return kExitOk;
}

int list_users(const UserOptions& options) {
  const DocumentNode answer = all_pages(options,
                                        path_with("/api/v1/users", {{"tenant_id", options.tenant},
                                                                    {"policy_id", options.policy},
                                                                    {"tier", options.tier},
                                                                    {"limit", "1000"}}),
                                        "users");
  print_result(options.output, answer, [&] {
    Table table{{"USER", "TIER", "POLICY", "LIMIT", "RATE", "UNTIL"}, {}};
    for (const DocumentNode& user : list_of(answer, "users"))
      add_rows(text_of(user, "user_id"), member_of(user, "agreed"), table);
    return table;
  });
  return kExitOk;
}

int list_limits(const UserOptions& options) {
  const DocumentNode answer =
      all_pages(options,
                path_with(path_of(options, "limits"),
                          {{"tenant_id", options.tenant}, {"policy_id", options.policy}, {"limit", "1000"}}),
                "limits");
  print_result(options.output, answer, [&] { return limits_table(answer); });
  return kExitOk;
}

int set_tier(const UserOptions& options) {
  if (options.tier.empty() == !options.no_tier) throw CommandError("name the tier, or --remove it");
  DocumentNode body = map_node();
  put(body, "tier", text_node(options.tier));
  put_text(body, "tenant_id", options.tenant);
  return print_agreed(options, call(options, {.method = "PUT",
                                              .path = path_of(options, "tier"),
                                              .body = document_output(body, Output::kJson)}));
}

int add_override(const UserOptions& options) {
  const auto rate = parse_rate(options.rate);
  if (!rate) throw CommandError("--rate: " + rate.error());
  if (rate->period_us % kSecondUs != 0)
    throw CommandError("--rate: the period of an override is whole seconds; write 1000/s instead of 1/ms");
  DocumentNode body = map_node();
  put(body, "policy_id", text_node(options.policy));
  put_text(body, "limit_name", options.limit);
  put(body, "limit", number_node(rate->count));
  put(body, "window_seconds", number_node(rate->period_us / kSecondUs));
  if (options.burst) put(body, "burst", number_node(*options.burst));
  if (!options.expires.empty())
    put(body, "expires_at", text_node(instant_from("--expires", options.expires)));
  return print_agreed(options, call(options, {.method = "POST",
                                              .path = path_of(options, "override"),
                                              .body = document_output(body, Output::kJson)}));
}

int remove_override(const UserOptions& options) {
  const std::string path = path_of(options, "override/" + percent_encode(options.policy));
  call(options, {.method = "DELETE", .path = path_with(path, {{"limit_name", options.limit}})});
  fmt::print("{}: the override of {} has ended\n", options.id, options.policy);
  return kExitOk;
}

using Runs = int(const UserOptions&);

// A subcommand about one user or several, with what all of them take.
std::pair<CLI::App*, std::shared_ptr<UserOptions>> make(CLI::App& parent, const char* name, const char* help,
                                                        Runs* run, int& exit_code) {
  const auto options = std::make_shared<UserOptions>();
  CLI::App* command = parent.add_subcommand(name, help);
  add_server_options(*command, options->server);
  command->callback([options, run, &exit_code] { exit_code = run(*options); });
  return {command, options};
}

void add_overrides(CLI::App& user, int& exit_code) {
  CLI::App* overrides = user.add_subcommand("override", "Give a user other numbers in one limit");
  overrides->require_subcommand(1);
  overrides->footer(
      "Example:\n  sluice user override add user_123 --policy api.read --rate 500/m --expires 1h");

  const auto [add, added] = make(*overrides, "add", "Add an override, in place of the one for the same limit",
                                 add_override, exit_code);
  add->add_option("id", added->id, "the user")->required();
  add->add_option("--policy", added->policy, "the policy")->required();
  add->add_option("--rate", added->rate, "500/s, 90/m, 5/30s")->required();
  add->add_option("--limit", added->limit, "which limit, if several of the policy count users");
  add->add_option("--burst", added->burst, "at most that many at once; absent: as many as the rate says");
  add->add_option("--expires", added->expires, "1h, or 2027-01-01T00:00:00Z; absent: never");
  add_reason_option(*add, added->server);
  add_output_option(*add, added->output);
  add->footer(
      "Example:\n  sluice user override add user_123 --policy api.read --rate 500/m --expires 1h --reason "
      "'a big import'");

  const auto [remove, removed] =
      make(*overrides, "remove", "End an override now", remove_override, exit_code);
  remove->add_option("id", removed->id, "the user")->required();
  remove->add_option("--policy", removed->policy, "the policy")->required();
  remove->add_option("--limit", removed->limit, "of this limit; absent: of all limits of the policy");
  add_reason_option(*remove, removed->server);
  remove->footer("Example:\n  sluice user override remove user_123 --policy api.read");
}

}  // namespace

void add_user(CLI::App& app, int& exit_code) {
  CLI::App* user = app.add_subcommand("user", "Users: their limits, tiers and overrides");
  user->require_subcommand(1);
  user->footer(
      "Example:\n  sluice user limits user_123\n  sluice user tier user_123 gold\n"
      "  sluice user override add user_123 --policy api.read --rate 500/m --expires 1h");

  const auto [list, listed] =
      make(*user, "list", "The users with a tier or overrides", list_users, exit_code);
  list->add_option("--tenant", listed->tenant, "only what is agreed for this tenant");
  list->add_option("--policy", listed->policy, "only overrides of this policy");
  list->add_option("--tier", listed->tier, "only users of this tier");
  add_output_option(*list, listed->output);
  list->footer("Example:\n  sluice user list --policy api.read");

  const auto [limits, shown] =
      make(*user, "limits", "Every limit that counts a user, and where its numbers come from", list_limits,
           exit_code);
  limits->add_option("id", shown->id, "the user")->required();
  limits->add_option("--tenant", shown->tenant, "only limits that apply to this tenant");
  limits->add_option("--policy", shown->policy, "only of this policy");
  add_output_option(*limits, shown->output);
  limits->footer("Example:\n  sluice user limits user_123 --tenant shop");

  const auto [tier, set] = make(*user, "tier", "Set the tier of a user", set_tier, exit_code);
  tier->add_option("id", set->id, "the user")->required();
  auto* const name = tier->add_option("tier", set->tier, "the tier");
  tier->add_flag("--remove", set->no_tier, "take the tier away")->excludes(name);
  tier->add_option("--tenant", set->tenant, "only in the policies of this tenant");
  add_reason_option(*tier, set->server);
  add_output_option(*tier, set->output);
  tier->footer("Example:\n  sluice user tier user_123 gold --tenant shop");

  add_overrides(*user, exit_code);
}

}  // namespace sluice::cli

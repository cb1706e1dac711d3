#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/text/encode.h"
#include "cli/admin/expiry.h"
#include "cli/client/api_client.h"
#include "cli/command.h"
#include "cli/output/output.h"
#include "cli/output/words.h"
#include "document/document_builder.h"

namespace sluice::cli {
namespace {

struct TokenOptions {
  ClientOptions server;
  std::string name;
  std::vector<std::string> roles, tenants;
  std::string expires;  // as given; empty: never
  Output output = Output::kTable;
};

std::string words_of(const DocumentNode& list) {
  std::vector<std::string_view> words;
  for (const DocumentNode& each : list.items) words.push_back(each.text);
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string expiry_words(const DocumentNode& token) {
  const std::string expires = optional_text_of(token, "expires_at");
  return expires.empty() ? "never" : instant_words(expires);
}

// The token itself is all that goes to standard output: it can be redirected into a file.
int create_token(const TokenOptions& options) {
  DocumentNode body = map_node();
  put(body, "name", text_node(options.name));
  put(body, "roles", text_list(options.roles));
  if (!options.tenants.empty()) put(body, "tenants", text_list(options.tenants));
  if (!options.expires.empty())
    put(body, "expires_at", text_node(instant_from("--expires", options.expires)));
  const SystemClock clock;
  const DocumentNode made =
      ApiClient(options.server, clock)
          .call({.method = "POST", .path = "/v1/tokens", .body = document_output(body, Output::kJson)});
  print_result(options.output, made, [&] { return text_of(made, "token") + '\n'; });
  if (options.output == Output::kTable)
    fmt::print(stderr, "token {}: roles {}; tenants {}; expires {}. It is shown only this once.\n",
               options.name, fmt::join(options.roles, ", "),
               options.tenants.empty() ? "all" : fmt::format("{}", fmt::join(options.tenants, ", ")),
               expiry_words(made));
  return kExitOk;
}

int list_tokens(const TokenOptions& options) {
  const SystemClock clock;
  const DocumentNode answer = ApiClient(options.server, clock).call({.path = "/v1/tokens"});
  print_result(options.output, answer, [&] {
    Table table{{"NAME", "ROLES", "TENANTS", "EXPIRES"}, {}};
    for (const DocumentNode& token : list_of(answer, "tokens"))
      table.rows.push_back({text_of(token, "name"), words_of(member_of(token, "roles")),
                            words_of(member_of(token, "tenants")), expiry_words(token)});
    return table;
  });
  return kExitOk;
}

int revoke_token(const TokenOptions& options) {
  const SystemClock clock;
  ApiClient(options.server, clock)
      .call({.method = "DELETE", .path = "/v1/tokens/" + percent_encode(options.name)});
  fmt::print("{} is revoked\n", options.name);
  return kExitOk;
}

void add_create(CLI::App& token, int& exit_code) {
  const auto options = std::make_shared<TokenOptions>();
  CLI::App* command = token.add_subcommand("create", "Create a token and print it, this once");
  command->add_option("name", options->name, "a name that no token has had")->required();
  command->add_option("--role", options->roles, "what it may do; several with commas between them")
      ->required()
      ->delimiter(',')
      ->check(CLI::IsMember({"check", "read", "write", "operator", "admin"}));
  command
      ->add_option("--tenant", options->tenants, "only for this tenant, or shop-* for several; absent: all")
      ->delimiter(',');
  command->add_option("--expires", options->expires, "30d, or 2027-01-01T00:00:00Z; absent: never");
  add_reason_option(*command, options->server);
  add_output_option(*command, options->output);
  add_server_options(*command, options->server);
  command->footer(
      "Example:\n  (umask 077; sluice token create shop-ci --role write --tenant 'shop-*' --expires 90d > "
      "shop-ci.token)");
  command->callback([options, &exit_code] { exit_code = create_token(*options); });
}

}  // namespace

void add_token(CLI::App& app, int& exit_code) {
  CLI::App* token = app.add_subcommand("token", "Tokens: who may use the API, what for, and how long");
  token->require_subcommand(1);
  token->footer("Example:\n  sluice token create ops-1 --role operator --expires 90d\n  sluice token list");
  add_create(*token, exit_code);

  const auto listed = std::make_shared<TokenOptions>();
  CLI::App* list = token->add_subcommand("list", "All tokens, without their secrets");
  add_output_option(*list, listed->output);
  add_server_options(*list, listed->server);
  list->footer("Example:\n  sluice token list");
  list->callback([listed, &exit_code] { exit_code = list_tokens(*listed); });

  const auto revoked = std::make_shared<TokenOptions>();
  CLI::App* revoke = token->add_subcommand("revoke", "Make a token invalid, from now on");
  revoke->add_option("name", revoked->name, "its name")->required();
  add_reason_option(*revoke, revoked->server);
  add_server_options(*revoke, revoked->server);
  revoke->footer("Example:\n  sluice token revoke shop-ci --reason 'it was in a log'");
  revoke->callback([revoked, &exit_code] { exit_code = revoke_token(*revoked); });
}

}  // namespace sluice::cli

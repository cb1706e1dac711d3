#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/client/api_client.h"
#include "cli/command.h"
#include "cli/output/output.h"
#include "cli/request_flags.h"
#include "doors/text.h"

namespace sluice::cli {
namespace {

struct CheckOptions {
  ClientOptions server;
  RequestFlags request;
  std::string request_id;
  std::optional<std::int64_t> tokens;
  Output output = Output::kTable;
};

void append_member(std::string& object, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (object.size() > 1) object += ',';
  doors::append_json_string(object, name);
  object += ':';
  doors::append_json_string(object, value);
}

std::string dimensions_object(const RequestFlags& request) {
  std::string object = "{";
  for (const auto& [name, value] : request.named_values()) append_member(object, name, value);
  return object + "}";
}

std::string request_body(const CheckOptions& options) {
  std::string body = "{";
  append_member(body, "policy_id", options.request.policy);
  append_member(body, "tenant_id", options.request.tenant);
  append_member(body, "resource", options.request.resource);
  append_member(body, "key", options.request.key);
  append_member(body, "request_id", options.request_id);
  const char* separator = body.size() > 1 ? "," : "";
  body += fmt::format("{}\"dimensions\":{}", separator, dimensions_object(options.request));
  if (options.tokens) body += fmt::format(",\"tokens\":{}", *options.tokens);
  return body + "}";
}

// "allowed: 19 of 20 left (policy api.read version 1, limit burst)"
std::string sentence(const DocumentNode& answer, bool allowed) {
  const std::string reason = text_of(answer, "reason"), limiting = optional_text_of(answer, "limiting");
  std::string out = allowed ? "allowed" : "denied";
  if (!limiting.empty())
    out += fmt::format(": {} of {} left (policy {} version {}, limit {})", text_of(answer, "remaining"),
                       text_of(answer, "limit"), text_of(answer, "policy_id"),
                       text_of(answer, "policy_version"), limiting);
  if (reason != "ok") out += fmt::format(", reason {}", reason);
  if (!allowed && reason != "never")
    out += fmt::format(", retry after {} ms", text_of(answer, "retry_after_ms"));
  return out;
}

int run(const CheckOptions& options) {
  const SystemClock clock;
  const ApiClient client(options.server, clock);
  const DocumentNode parsed =
      client.call({.method = "POST", .path = "/v1/ratelimit/check", .body = request_body(options)});
  const bool allowed = text_of(parsed, "allowed") == "true";
  print_result(options.output, parsed, [&] { return sentence(parsed, allowed) + '\n'; });
  return allowed ? kExitOk : kExitDenied;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> RequestFlags::named_values() const {
  std::vector<std::pair<std::string, std::string>> named;
  for (const std::string& dimension : dimensions) {
    const auto equals = dimension.find('=');
    if (equals == std::string::npos || equals == 0)
      throw CommandError(
          fmt::format("--dimension {}: write name=value, for example --dimension ip=192.0.2.7", dimension));
    named.emplace_back(dimension.substr(0, equals), dimension.substr(equals + 1));
  }
  return named;
}

void add_check(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "One check from the shell; exit status 0 allowed, 1 denied, 2 error");
  add_server_options(*command, options->server);
  add_request_flags(*command, options->request);
  command->add_option("--tokens", options->tokens, "cost of the request; 0: look, and charge nothing");
  command->add_option("--request-id", options->request_id, "idempotency key");
  add_output_option(*command, options->output);
  command->add_flag_callback("--json", [options] { options->output = Output::kJson; }, "--output json");
  command->footer(
      "Example:\n  sluice check --tenant search-service --resource /search --key user_123 || echo slow down");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace sluice::cli

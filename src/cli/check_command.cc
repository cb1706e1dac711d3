#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/http_post.h"

namespace sluice::cli {
namespace {

namespace json = boost::json;

struct CheckOptions {
  std::string server = "127.0.0.1:8080";
  std::string policy, tenant, resource, key, request_id;
  std::optional<std::int64_t> tokens;
  std::vector<std::string> dimensions;  // name=value
  bool as_json = false;
};

std::string request_body(const CheckOptions& options) {
  json::object body;
  const auto put = [&body](const char* name, const std::string& value) {
    if (!value.empty()) body[name] = value;
  };
  put("policy_id", options.policy);
  put("tenant_id", options.tenant);
  put("resource", options.resource);
  put("key", options.key);
  put("request_id", options.request_id);
  if (options.tokens) body["tokens"] = *options.tokens;
  json::object dimensions;
  for (const std::string& dimension : options.dimensions) {
    const auto equals = dimension.find('=');
    if (equals == std::string::npos || equals == 0)
      throw CommandError(
          fmt::format("--dimension {}: write name=value, for example --dimension ip=192.0.2.7", dimension));
    dimensions[dimension.substr(0, equals)] = dimension.substr(equals + 1);
  }
  if (!dimensions.empty()) body["dimensions"] = std::move(dimensions);
  return json::serialize(body);
}

std::string text_of(const json::object& answer, const char* field) {
  const json::value* value = answer.if_contains(field);
  if (!value) return "";
  return value->is_string() ? std::string(value->as_string()) : json::serialize(*value);
}

// "allowed: 19 of 20 left (policy api.read version 1, limit burst)"
std::string sentence(const json::object& answer) {
  const bool allowed = answer.at("allowed").as_bool();
  const std::string reason = text_of(answer, "reason");
  std::string out = allowed ? "allowed" : "denied";
  if (const std::string limiting = text_of(answer, "limiting"); !limiting.empty())
    out += fmt::format(": {} of {} left (policy {} version {}, limit {})", text_of(answer, "remaining"),
                       text_of(answer, "limit"), text_of(answer, "policy_id"),
                       text_of(answer, "policy_version"), limiting);
  if (reason != "ok") out += fmt::format(", reason {}", reason);
  if (!allowed && reason != "never")
    out += fmt::format(", retry after {} ms", text_of(answer, "retry_after_ms"));
  return out;
}

int run(const CheckOptions& options) {
  const HttpAnswer answer = http_post(options.server, "/v1/ratelimit/check", request_body(options));
  json::error_code error;
  const json::value parsed = json::parse(answer.body, error);
  if (error || !parsed.is_object())
    throw CommandError(
        fmt::format("{} answered {} without JSON; is it a Sluice server?", options.server, answer.status));
  const json::object& object = parsed.as_object();
  if (answer.status != 200)
    throw CommandError(fmt::format("the server refused the check: {}",
                                   text_of(object, object.contains("detail") ? "detail" : "title")));
  std::puts(options.as_json ? answer.body.c_str() : sentence(object).c_str());
  return object.at("allowed").as_bool() ? kExitOk : kExitDenied;
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "One check from the shell; exit status 0 allowed, 1 denied, 2 error");
  command->add_option("--server", options->server, "HOST:PORT of the server")
      ->capture_default_str()
      ->envname("SLUICE_SERVER");
  command->add_option("--policy", options->policy, "id of the policy; absent: the most specific one");
  command->add_option("--tenant", options->tenant, "tenant");
  command->add_option("--resource", options->resource, "resource, for example /search");
  command->add_option("--key", options->key, "the user, address or API key");
  command->add_option("--tokens", options->tokens, "cost of the request; 0 only looks");
  command->add_option("--dimension", options->dimensions, "name=value; may be repeated");
  command->add_option("--request-id", options->request_id, "idempotency key");
  command->add_flag("--json", options->as_json, "print the server's answer as it is");
  command->footer(
      "Example:\n  sluice check --tenant search-service --resource /search --key user_123 || echo slow down");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace sluice::cli

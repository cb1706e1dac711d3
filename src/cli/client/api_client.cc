#include "cli/client/api_client.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>

#include "base/limits.h"
#include "base/text/encode.h"
#include "cli/command.h"
#include "document/literals.h"
#include "document/problems.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kTokenBytesMax = 4096;

// An option must not be able to inject headers.
void check_header(std::string_view option, std::string_view value, std::size_t bytes_max) {
  if (value.size() > bytes_max)
    throw CommandError(fmt::format("{} is longer than {} bytes; shorten it", option, bytes_max));
  if (std::ranges::any_of(value, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }))
    throw CommandError(fmt::format("{} contains a control character; write it on one line", option));
}

std::string read_token(const ClientOptions& options) {
  if (options.token_file.empty()) return options.token;
  std::ifstream file(options.token_file, std::ios::binary);
  std::string token(kTokenBytesMax + 1, '\0');
  file.read(token.data(), static_cast<std::streamsize>(token.size()));
  if (!file && !file.eof())
    throw CommandError(
        fmt::format("--token-file {} cannot be read; check its name and permissions", options.token_file));
  token.resize(static_cast<std::size_t>(file.gcount()));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' '))
    token.pop_back();
  if (token.empty())
    throw CommandError(fmt::format("--token-file {} is empty; write the token into it", options.token_file));
  return token;
}

// The server's error in one sentence.
std::string refusal(const HttpAnswer& answer, const DocumentNode* problem) {
  std::string detail, field;
  if (problem && problem->kind == DocumentNode::Kind::kMap) {
    detail = optional_text_of(*problem, "detail");
    if (detail.empty()) detail = optional_text_of(*problem, "title");
    field = optional_text_of(*problem, "field");
  }
  std::string sentence = fmt::format("the server answers {}", answer.status);
  if (!field.empty()) sentence += ": " + field;
  if (!detail.empty()) sentence += ": " + detail;
  if (answer.status == 401) sentence += "; give a token with --token-file or SLUICE_TOKEN";
  return sentence;
}

}  // namespace

void add_server_options(CLI::App& command, ClientOptions& options) {
  command.add_option("--server", options.server, "the server: http://HOST:PORT or https://HOST:PORT")
      ->capture_default_str()
      ->envname("SLUICE_SERVER");
  add_access_options(command, options);
}

void add_access_options(CLI::App& command, ClientOptions& options) {
  command
      .add_option("--token", options.token,
                  "a token; visible to other users of this machine: prefer --token-file")
      ->envname("SLUICE_TOKEN");
  command.add_option("--token-file", options.token_file, "a file with the token in it")
      ->envname("SLUICE_TOKEN_FILE");
  command
      .add_option("--ca", options.tls.ca_file,
                  "PEM file with the CAs to trust for the server's certificate (the system's)")
      ->envname("SLUICE_CA");
  command.add_option("--client-cert", options.tls.certificate_file, "PEM file with the client certificate")
      ->envname("SLUICE_CLIENT_CERT");
  command.add_option("--client-key", options.tls.key_file, "PEM file with its key")
      ->envname("SLUICE_CLIENT_KEY");
}

void add_reason_option(CLI::App& command, ClientOptions& options) {
  command.add_option("--reason", options.reason, "the reason, for the audit log");
}

std::string path_with(std::string path,
                      std::initializer_list<std::pair<std::string_view, std::string_view>> parameters) {
  char separator = '?';
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    path += std::exchange(separator, '&');
    path.append(name).append(1, '=').append(percent_encode(value));
  }
  return path;
}

ApiClient::ApiClient(const ClientOptions& options, const Clock& clock)
    : url_(parse_server_url(options.server)),
      tls_(options.tls),
      call_us_(options.call_seconds * 1'000'000),
      clock_(clock) {
  if (tls_.certificate_file.empty() != tls_.key_file.empty())
    throw CommandError("--client-cert and --client-key must be given together");
  const std::string token = read_token(options);
  check_header("the token", token, kTokenBytesMax);
  check_header("--reason", options.reason, kReasonBytesMax);
  headers_ = fmt::format("host: {}\r\nuser-agent: sluice\r\nconnection: close\r\n", url_.authority());
  if (!token.empty()) headers_ += fmt::format("authorization: Bearer {}\r\n", token);
  if (!options.reason.empty()) headers_ += fmt::format("x-reason: {}\r\n", options.reason);
}

HttpAnswer ApiClient::send(const ApiCall& call) const {
  std::string request = fmt::format("{} {} HTTP/1.1\r\n{}", call.method, call.path, headers_);
  if (call.version) request += fmt::format("if-match: \"{}\"\r\n", *call.version);
  if (!call.body.empty()) request += "content-type: application/json\r\n";
  if (call.method != "GET") request += fmt::format("content-length: {}\r\n", call.body.size());
  request += "\r\n" + call.body;
  const std::int64_t deadline_us = clock_.now_us() + call_us_;
  auto answer = read_http_answer(exchange_bytes(url_, tls_, request, {clock_, deadline_us}));
  if (!answer) throw CommandError(fmt::format("the server at {} {}", url_.authority(), answer.error()));
  return *std::move(answer);
}

DocumentNode ApiClient::read(const HttpAnswer& answer) const {
  if (answer.status == 204) return {};
  Problems problems;
  auto tree = parse_document_tree(answer.body, "answer", problems);
  if (answer.status >= 400) throw CommandError(refusal(answer, tree ? &*tree : nullptr));
  if (!tree)
    throw CommandError(
        fmt::format("{} answered {} without JSON; is it a Sluice server?", url_.authority(), answer.status));
  return *std::move(tree);
}

DocumentNode ApiClient::call(const ApiCall& call) const { return read(send(call)); }

const DocumentNode& member_of(const DocumentNode& map, std::string_view field) {
  if (const DocumentNode* const found = map.find(field)) return *found;
  throw CommandError(
      fmt::format("the server's answer has no field {}; is it a Sluice server of this version?", field));
}

std::string text_of(const DocumentNode& map, std::string_view field) {
  const DocumentNode& found = member_of(map, field);
  if (found.kind == DocumentNode::Kind::kText) return found.text;
  throw CommandError(fmt::format(
      "field {} of the server's answer is no text; is it a Sluice server of this version?", field));
}

std::int64_t number_of(const DocumentNode& map, std::string_view field) {
  const auto number = parse_integer(text_of(map, field));
  if (!number)
    throw CommandError(fmt::format("the server's answer has no number {}; is it a Sluice server?", field));
  return *number;
}

const std::vector<DocumentNode>& list_of(const DocumentNode& map, std::string_view field) {
  const DocumentNode& found = member_of(map, field);
  if (found.kind == DocumentNode::Kind::kList) return found.items;
  throw CommandError(fmt::format(
      "field {} of the server's answer is no list; is it a Sluice server of this version?", field));
}

std::string optional_text_of(const DocumentNode& map, std::string_view field) {
  const DocumentNode* found = map.find(field);
  return found && found->kind == DocumentNode::Kind::kText ? found->text : "";
}

}  // namespace sluice::cli

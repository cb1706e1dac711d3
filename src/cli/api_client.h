#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "cli/http_exchange.h"
#include "cli/server_url.h"
#include "policy/document_tree.h"

namespace CLI {
class App;
}

namespace sluice::cli {

// How a command reaches a server, as its options say.
struct ServerOptions {
  std::string server = "http://127.0.0.1:8080";
  std::string token;
  std::string token_file;
  redis::TlsSettings tls;          // for a server with https
  std::string reason;              // why, for the audit log
  std::int64_t call_seconds = 30;  // every call ends within
};
// --server, and those of add_access_options(). Each is also SLUICE_… in the environment.
void add_server_options(CLI::App& command, ServerOptions& options);
// --token and --token-file, --ca, --client-cert and --client-key: for commands that talk to several servers.
void add_access_options(CLI::App& command, ServerOptions& options);
// --reason, for commands that change something.
void add_reason_option(CLI::App& command, ServerOptions& options);

struct ApiCall {
  std::string method = "GET";
  std::string path;                     // with the query
  std::string body = {};                // JSON; empty: none
  std::optional<std::int64_t> version;  // If-Match
};

// Calls the API of a running server over HTTP/1.1, one connection a call. Not thread-safe.
//
// Each call ends within its time; an answer has at most kAnswerBytesMax bytes. What goes wrong is a
// CommandError whose sentence says what to do and never has the token in it.
//
//   ApiClient client(options, clock);
//   const DocumentNode policy = client.call({.path = "/v1/policies/" + percent_encode(id)});
class ApiClient {
 public:
  // REQUIRES: the clock outlives the client. Reads the token's file.
  ApiClient(const ServerOptions& options, const Clock& clock);

  // The answer, whatever its status.
  HttpAnswer send(const ApiCall& call) const;
  // The answer's JSON. A status of 400 and above throws the server's own sentence.
  DocumentNode call(const ApiCall& call) const;
  // The same, of an answer that came already.
  DocumentNode read(const HttpAnswer& answer) const;

  const ServerUrl& url() const { return url_; }

 private:
  const ServerUrl url_;
  std::string headers_;  // those of every call
  const redis::TlsSettings tls_;
  const std::int64_t call_us_;
  const Clock& clock_;
};

// Fields of an answer. Throw a CommandError if the answer does not have them: then it is no Sluice server, or
// a much newer one.
std::string text_of(const DocumentNode& map, std::string_view field);
std::int64_t number_of(const DocumentNode& map, std::string_view field);
// Empty where it is absent or null.
std::string optional_text_of(const DocumentNode& map, std::string_view field);

}  // namespace sluice::cli

#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cli/client/http_exchange.h"
#include "cli/client/server_url.h"
#include "document/document_tree.h"

namespace CLI {
class App;
}

namespace sluice::cli {

// How a command reaches a server. Set from the command's options.
struct ClientOptions {
  std::string server = "http://127.0.0.1:8080";
  std::string token;
  std::string token_file;
  TlsSettings tls;                 // for a server with https
  std::string reason;              // recorded in the audit log
  std::int64_t call_seconds = 30;  // time limit of each call
};
// --server, plus the options of add_access_options(). Each can also be set by a SLUICE_… environment
// variable.
void add_server_options(CLI::App& command, ClientOptions& options);
// --token and --token-file, --ca, --client-cert and --client-key: for commands that talk to several servers.
void add_access_options(CLI::App& command, ClientOptions& options);
// --reason, for commands that change something.
void add_reason_option(CLI::App& command, ClientOptions& options);

// "/v1/audit?kind=policy&limit=20": the path with those of these parameters that are not empty, encoded.
std::string path_with(std::string path,
                      std::initializer_list<std::pair<std::string_view, std::string_view>> parameters);

struct ApiCall {
  std::string method = "GET";
  std::string path;                     // with the query
  std::string body = {};                // JSON; may be empty
  std::optional<std::int64_t> version;  // If-Match
};

// Calls the API of a running server over HTTP/1.1, one connection per call. Not thread-safe.
//
// Each call has a time limit, and an answer may have at most kAnswerBytesMax bytes. Failures are thrown as a
// CommandError whose message says what to do and never contains the token.
//
//   ApiClient client(options, clock);
//   const DocumentNode policy = client.call({.path = "/v1/policies/" + percent_encode(id)});
class ApiClient {
 public:
  // Reads the token file. REQUIRES: the clock outlives the client.
  ApiClient(const ClientOptions& options, const Clock& clock);

  // Returns the answer, whatever its status.
  HttpAnswer send(const ApiCall& call) const;
  // Returns the answer's JSON. Throws the server's error message if the status is 400 or above.
  DocumentNode call(const ApiCall& call) const;
  // The same for an answer that was received earlier.
  DocumentNode read(const HttpAnswer& answer) const;

  const ServerUrl& url() const { return url_; }

 private:
  const ServerUrl url_;
  std::string headers_;  // sent with every call
  const TlsSettings tls_;
  const std::int64_t call_us_;
  const Clock& clock_;
};

// Fields of an answer. They throw a CommandError if the field is missing: then the peer is not a Sluice
// server, or is a much newer one.
std::string text_of(const DocumentNode& map, std::string_view field);
const DocumentNode& member_of(const DocumentNode& map, std::string_view field);
std::int64_t number_of(const DocumentNode& map, std::string_view field);
const std::vector<DocumentNode>& list_of(const DocumentNode& map, std::string_view field);
// Empty if the field is absent or null.
std::string optional_text_of(const DocumentNode& map, std::string_view field);

}  // namespace sluice::cli

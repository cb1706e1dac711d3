#pragma once

#include <string>
#include <string_view>

namespace sluice::cli {

struct HttpAnswer {
  int status = 0;
  std::string body;
};

struct HttpQuestion {
  std::string_view method;
  std::string_view path;
  std::string_view json = {};   // empty: no body
  std::string_view token = {};  // empty: none
};

// Sends it to HOST:PORT and waits for the answer, at most ten seconds. Throws CommandError with a sentence
// that says what to do when there is none.
HttpAnswer http_send(const std::string& server, const HttpQuestion& question);

// Sends one POST with a JSON body to HOST:PORT and waits for the answer, as http_send() does.
HttpAnswer http_post(const std::string& server, std::string_view path, std::string_view json);

}  // namespace sluice::cli

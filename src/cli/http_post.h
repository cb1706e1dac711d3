#pragma once

#include <string>
#include <string_view>

namespace sluice::cli {

struct HttpAnswer {
  int status = 0;
  std::string body;
};

// Sends one POST with a JSON body to HOST:PORT and waits for the answer, at most ten seconds. Throws
// CommandError with a sentence that says what to do when there is none.
HttpAnswer http_post(const std::string& server, std::string_view path, std::string_view json);

}  // namespace sluice::cli

#include "cli/client/server_url.h"

#include "cli/command.h"

namespace sluice::cli {

ServerUrl parse_server_url(const std::string& text) {
  auto url = net::read_server_url(text);
  if (!url)
    throw CommandError("--server " + url.error() +
                       "; write it as http://127.0.0.1:8080, https://HOST:PORT or HOST:PORT");
  return *std::move(url);
}

}  // namespace sluice::cli

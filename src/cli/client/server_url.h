#pragma once

#include <string>

#include "net/http/server_url.h"

namespace sluice::cli {

using net::ServerUrl;

// As net::read_server_url(), but throws a CommandError that says how to write it.
ServerUrl parse_server_url(const std::string& text);

}  // namespace sluice::cli

#pragma once

#include <string>

#include "base/error.h"

namespace sluice::control {

// The first token, in a file for the operator's eyes only: neither in arguments nor in a log.
struct BootstrapToken {
  std::string secret;
  bool is_new = false;  // made just now, and written to the file
};

// The token in the file. If there is no such file, makes a token and a file that only its owner can read.
// kInvalidArgument, as a sentence: others can read the file, or it holds no token.
Result<BootstrapToken> take_bootstrap_token(const std::string& path);

// The same check without making anything: nothing is wrong with the file, or there is none yet.
Result<void> check_bootstrap_file(const std::string& path);

// Takes a file back that take_bootstrap_token() has just made: its token did not become one.
void remove_bootstrap_file(const std::string& path);

}  // namespace sluice::control

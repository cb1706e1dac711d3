#pragma once

#include <stdexcept>
#include <string>

namespace sluice::server {

// Exit statuses, the same for every command.
inline constexpr int kExitOk = 0;
inline constexpr int kExitDenied = 1;  // a denial, or a document that is not valid
inline constexpr int kExitError = 2;   // no answer: wrong usage, connection failed, cannot start

// Its message is a sentence for stderr that says what to do; main prints it and exits with this status.
struct CommandError : std::runtime_error {
  explicit CommandError(const std::string& sentence, int exit_status = kExitError)
      : std::runtime_error(sentence), status(exit_status) {}
  int status;
};

}  // namespace sluice::server

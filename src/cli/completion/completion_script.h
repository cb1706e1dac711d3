#pragma once

#include <string>
#include <vector>

#include "cli/completion/command_words.h"

// Scripts that complete command lines of `sluice`, for each shell in its own language.
namespace sluice::cli {

std::string bash_completion(const std::vector<CommandWords>& commands);
std::string zsh_completion(const std::vector<CommandWords>& commands);
std::string fish_completion(const std::vector<CommandWords>& commands);

}  // namespace sluice::cli

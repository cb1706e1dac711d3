#pragma once

namespace CLI {
class App;
}

namespace sluice::cli {

// The group of options that only --help-all shows.
inline constexpr char kMoreSettings[] = "More settings";

// For a command with many options: --help fits on one screen and mentions --help-all, which shows every
// option.
void make_help_brief(CLI::App& command);

}  // namespace sluice::cli

#pragma once

namespace CLI {
class App;
}

namespace sluice::cli {

// The group of options that only --help-all shows.
inline constexpr char kMoreSettings[] = "More settings";

// A command with many options: --help fits a screen and names --help-all, which shows them all.
void make_help_brief(CLI::App& command);

}  // namespace sluice::cli

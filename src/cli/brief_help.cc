#include "cli/brief_help.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::cli {
namespace {

class BriefFormatter final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    shows_all_ = mode == CLI::AppFormatMode::All;
    return CLI::Formatter::make_help(app, std::move(name), mode);
  }
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (group == kMoreSettings && !shows_all_) return "";
    return CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
  }

 private:
  mutable bool shows_all_ = false;  // of the help being made
};

}  // namespace

void make_help_brief(CLI::App& command) {
  command.set_help_all_flag("--help-all", "All settings");
  command.formatter(std::make_shared<BriefFormatter>());
}

}  // namespace sluice::cli

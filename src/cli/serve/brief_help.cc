#include "cli/serve/brief_help.h"

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
  // The kind of value and the default; the footer says how the variables are called.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const std::string type = option->get_type_name(), value = option->get_default_str();
    return " " + type.substr(0, type.find(':')) + (value.empty() ? "" : " (" + value + ")");
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

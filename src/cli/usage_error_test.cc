#include "cli/usage_error.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace sluice::cli {
namespace {

// What somebody is told who calls a small `sluice` with these words.
std::string told(std::vector<std::string> words) {
  CLI::App app("", "sluice");
  app.require_subcommand(1);
  CLI::App* const serve = app.add_subcommand("serve", "");
  CLI::App* const policy = app.add_subcommand("policy", "");
  policy->require_subcommand(1);
  CLI::App* const show = policy->add_subcommand("show", "");
  int threads = 0, version = 0, plain = 0;
  std::string mode, file, id, one, other;
  serve->add_option("--threads", threads)->check(CLI::Range(0, 1024));
  serve->add_option("--mode", mode)->check(CLI::IsMember({"open", "closed"}));
  serve->add_option("--config", file)->check(CLI::ExistingFile);
  serve->add_option("--plain", plain);
  CLI::Option* const first = serve->add_option("--one", one);
  CLI::Option* const second = serve->add_option("--other", other)->excludes(first);
  serve->add_option("--third", other)->needs(second);
  show->add_option("id", id)->required();
  show->add_option("--version", version)->check(CLI::PositiveNumber);
  try {
    std::reverse(words.begin(), words.end());
    app.parse(words);
    return "nothing";
  } catch (const CLI::ParseError& e) {
    return usage_error(app, e);
  }
}

TEST(UsageError, SaysWhatIsWrongAndWhichHelpToRead) {
  struct Row {
    std::vector<std::string> words;
    std::string expected;
  };
  const std::string serve = "\nTry `sluice serve --help`.\n", show = "\nTry `sluice policy show --help`.\n";
  for (const Row& row : {
           Row{{"serve", "--threads", "2"}, "nothing"},
           {{"serve", "--threads", "many"},
            "sluice: --threads: must be a number from 0 to 1024, not \"many\"" + serve},
           {{"serve", "--threads", "-1"},
            "sluice: --threads: must be a number from 0 to 1024, not \"-1\"" + serve},
           {{"serve", "--mode", "ajar"}, "sluice: --mode: must be one of open, closed, not \"ajar\"" + serve},
           {{"serve", "--config", "no.yaml"}, "sluice: --config: no.yaml does not exist" + serve},
           {{"serve", "--plain", "x"}, "sluice: --plain: must be a number, not \"x\"" + serve},
           {{"serve", "--plain"}, "sluice: --plain needs a value" + serve},
           {{"serve", "--one", "1", "--other", "2"}, "sluice: --one and --other exclude each other" + serve},
           {{"serve", "--third", "3"}, "sluice: --third needs --other" + serve},
           {{"serve", "--thread", "2"},
            "sluice: there is no option --thread; did you mean --threads?" + serve},
           {{"serve", "--port=3"}, "sluice: there is no option --port" + serve},
           {{"serve", "now"}, "sluice: \"now\" is one argument too many" + serve},
           {{"policy", "show"}, "sluice: ID is missing" + show},
           {{"policy", "show", "p", "--version", "0"},
            "sluice: --version: must be positive, not \"0\"" + show},
           {{"policy"},
            "sluice: name a command; the commands of `sluice policy` are show\nTry `sluice policy "
            "--help`.\n"},
           {{"policy", "shw"},
            "sluice: there is no command shw; did you mean show?\nTry `sluice policy --help`.\n"},
           {{}, "sluice: name a command; the commands of `sluice` are serve, policy\nTry `sluice --help`.\n"},
           {{"dance"},
            "sluice: there is no command dance; the commands of `sluice` are serve, policy\nTry `sluice "
            "--help`.\n"},
       })
    EXPECT_EQ(told(row.words), row.expected);
}

}  // namespace
}  // namespace sluice::cli

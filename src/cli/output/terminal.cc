#include "cli/output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "document/literals.h"

namespace sluice::cli {
namespace {

constexpr std::int64_t kColumnsMin = 20, kColumnsMax = 1000;

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

Terminal Terminal::of(std::FILE* stream) {
  Terminal terminal;
  terminal.is_terminal = isatty(fileno(stream)) == 1;
  terminal.colour = terminal.is_terminal && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  winsize size{};
  if (terminal.is_terminal && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.columns = size.ws_col;
    terminal.rows = size.ws_row;
  }
  const auto told = parse_integer(variable("COLUMNS"));
  if (told && *told >= kColumnsMin && *told <= kColumnsMax)
    terminal.columns = static_cast<std::size_t>(*told);
  return terminal;
}

}  // namespace sluice::cli

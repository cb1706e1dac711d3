#include "redis/cluster/config_epochs.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace sluice::redis {
namespace {

// Takes the text up to the next `end`, which is removed, too.
std::string_view take_until(std::string_view& text, char end) {
  const std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), taken.size() + 1));
  return taken;
}

bool has_flag(std::string_view flags, std::string_view flag) {
  while (!flags.empty())
    if (take_until(flags, ',') == flag) return true;
  return false;
}

}  // namespace

ConfigEpochs::ConfigEpochs(std::string_view nodes) {
  while (!nodes.empty()) read_line(take_until(nodes, '\n'));
  std::ranges::sort(entries_, {}, &Entry::id);
}

// id, address, flags, master, ping sent, pong received, config epoch, link, slots …
void ConfigEpochs::read_line(std::string_view line) {
  std::array<std::string_view, 7> fields;
  for (std::string_view& field : fields) field = take_until(line, ' ');
  const std::string_view id = fields[0], flags = fields[2], number = fields[6];
  std::uint64_t epoch = 0;
  const auto [last, error] = std::from_chars(number.data(), number.data() + number.size(), epoch);
  if (id.empty() || error != std::errc() || last != number.data() + number.size()) return;
  entries_.push_back({id, epoch});
  if (has_flag(flags, "myself")) self_ = id;
}

std::optional<std::uint64_t> ConfigEpochs::of(std::string_view id) const {
  const auto found = std::ranges::lower_bound(entries_, id, {}, &Entry::id);
  if (found == entries_.end() || found->id != id) return std::nullopt;
  return found->epoch;
}

}  // namespace sluice::redis

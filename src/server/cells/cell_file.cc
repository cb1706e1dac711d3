#include "server/cells/cell_file.h"

#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "document/fields.h"
#include "document/literals.h"

namespace sluice::server {
namespace {

constexpr std::array<std::string_view, 2> kTopFields = {"cells", "start_anew"};
constexpr std::array<std::string_view, 5> kCellFields = {"name", "store", "tenants", "tiers", "when_moved"};

Literal<std::optional<redis::StoreTarget>> parse_store(std::string_view text) {
  if (text == "memory") return std::optional<redis::StoreTarget>();
  auto target = redis::parse_store_url(text);
  if (!target) return std::unexpected(target.error().message);
  return std::optional(std::move(*target));
}

Literal<WhenMoved> parse_when_moved(std::string_view text) {
  if (text == "keep") return WhenMoved::kKeep;
  if (text == "reset") return WhenMoved::kReset;
  return std::unexpected(shown(text) + " is neither keep nor reset");
}

Literal<std::string> parse_tenant(std::string_view text) {
  if (text.find('*') < text.size() - 1)
    return std::unexpected(shown(text) + " has a * before its end; only the last character may be one");
  return parse_free_text(text, kKeyBytesMax);
}

Literal<std::string> parse_whole_tenant(std::string_view text) {
  if (text.contains('*'))
    return std::unexpected(shown(text) + " has a *; name each tenant whose counters start from zero");
  return parse_free_text(text, kKeyBytesMax);
}

Literal<std::string> parse_tier(std::string_view text) { return parse_free_text(text, kKeyBytesMax); }

// Reads the cells of one file and tracks which names are taken. Not thread-safe.
class CellReader {
 public:
  Cell read(const DocumentNode& node, const Place& place) {
    const Fields fields(node, place, kCellFields);
    Cell cell;
    if (!fields.is_map()) return cell;
    fields.missing("name");
    fields.missing("store");
    cell.name = fields.text("name", parse_name).value_or("");
    cell.store.redis = fields.text("store", parse_store).value_or(std::nullopt);
    cell.when_moved = fields.text("when_moved", parse_when_moved).value_or(WhenMoved::kKeep);
    if (cell.name == Cells::kDefaultName)
      fields.report("name", "\"default\" is the name of the store of --store; choose another");
    else if (!cell.name.empty() && !names_.emplace(cell.name, place.path()).second)
      fields.report("name", names_[cell.name] + " is named " + shown(cell.name) + ", too");
    cell.tenants = read_places(fields, "tenants", place, parse_tenant, tenants_);
    cell.tiers = read_places(fields, "tiers", place, parse_tier, tiers_);
    if (!fields.has("tenants") && !fields.has("tiers"))
      fields.missing("tenants", "; a cell needs `tenants` or `tiers`");
    return cell;
  }
  std::vector<std::string> read_start_anew(const Fields& fields, const Place& top) {
    return read_places(fields, "start_anew", top, parse_whole_tenant, start_anew_);
  }

 private:
  using Taken = std::map<std::string, std::string>;  // name → the field that has it

  template <class Parse>
  std::vector<std::string> read_places(const Fields& fields, std::string_view name, const Place& cell,
                                       const Parse& parse, Taken& taken) {
    std::vector<std::string> places;
    const DocumentNode* const list = fields.node(name);
    const Place place = cell.field(name);
    if (!list || !is_list(*list, place)) return places;
    count_ += list->items.size();
    if (count_ > kCellPlacesMax) {
      place.report(list->line,
                   "there are more than " + std::to_string(kCellPlacesMax) + " tenants and tiers");
      return places;
    }
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      const DocumentNode& item = list->items[i];
      const Place here = place.item(i);
      if (!is_text(item, here)) continue;
      auto parsed = parse(item.text);
      if (!parsed)
        here.report(item.line, parsed.error());
      else if (const auto [entry, is_new] = taken.emplace(*parsed, here.path()); !is_new)
        here.report(item.line, shown(*parsed) + " is placed by " + entry->second + " already");
      else
        places.push_back(std::move(*parsed));
    }
    return places;
  }

  std::map<std::string, std::string> names_;
  Taken tenants_, tiers_, start_anew_;
  std::size_t count_ = 0;
};

}  // namespace

CellFile parse_cells(std::string_view text, const std::string& file, Problems& problems) {
  CellFile read;
  const auto tree = parse_document_tree(text, file, problems);
  if (!tree) return read;
  const Place top{file, problems};
  const Fields fields(*tree, top, kTopFields);
  if (!fields.is_map()) return read;
  fields.missing("cells");
  const DocumentNode* const list = fields.node("cells");
  const Place place = top.field("cells");
  if (!list || !is_list(*list, place)) return read;
  if (list->items.size() > kCellsMax) {
    place.report(list->line, "there are more than " + std::to_string(kCellsMax) + " cells");
    return read;
  }
  CellReader reader;
  for (std::size_t i = 0; i < list->items.size(); ++i)
    read.cells.push_back(reader.read(list->items[i], place.item(i)));
  read.start_anew = reader.read_start_anew(fields, top);
  return read;
}

}  // namespace sluice::server

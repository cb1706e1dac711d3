#include "server/cells/cell_memory.h"

#include <filesystem>
#include <utility>

#include "base/limits/control_limits.h"
#include "base/secret/sealed_file.h"

namespace sluice::server {

CellMemoryFile::CellMemoryFile(const std::string& state_dir, const std::string& of)
    : path_(state_dir.empty() ? "" : state_dir + "/cells-" + short_digest(of)) {}

CellMemory CellMemoryFile::read() const {
  if (path_.empty()) return std::nullopt;
  const auto contents = read_sealed_file(path_, kPolicyCopyBytesMax);
  if (!contents) return std::nullopt;
  std::map<std::string, std::string> placed;
  for (FieldReader fields(*contents); !fields.at_end();) {
    const auto tenant = fields.next(), cell = fields.next();
    if (!tenant || !cell) return std::nullopt;
    placed.emplace(*tenant, *cell);
  }
  return placed;
}

Result<void> CellMemoryFile::write(const Cells& cells, const Cells& wanted) const {
  if (path_.empty()) return {};
  if (std::error_code unknown; cells.list().size() == 1 && !std::filesystem::exists(path_, unknown))
    return {};
  const CellMemory before = read();
  const auto last_place = [&](const std::string& tenant) {
    if (!before) return std::string(kNobodyKnows);
    const auto was = before->find(tenant);
    std::string place = was == before->end() ? std::string(Cells::kDefaultName) : was->second;
    return place == wanted.place_of(tenant).name ? std::string(kNobodyKnows) : place;
  };
  std::string contents;
  for (const auto& [tenant, name] : cells.named_tenants()) {
    const Cell& cell = cells.place_of(tenant);
    append_field(contents, tenant);
    if (cell.backing != Cell::Backing::kStore)
      append_field(contents, last_place(tenant));
    else
      append_field(contents, is_single(cell) ? std::string_view(name) : kNothingToCarry);
  }
  return write_sealed_file(path_, contents);
}

}  // namespace sluice::server

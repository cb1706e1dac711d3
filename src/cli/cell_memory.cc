#include "cli/cell_memory.h"

#include <filesystem>
#include <utility>

#include "base/control_limits.h"
#include "base/sealed_file.h"

namespace sluice::cli {

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

Result<void> CellMemoryFile::write(const Cells& cells) const {
  if (path_.empty() || cells.is_looking()) return {};
  if (std::error_code unknown; cells.list().size() == 1 && !std::filesystem::exists(path_, unknown))
    return {};
  std::string contents;
  for (const auto& [tenant, cell] : cells.named_tenants()) {
    append_field(contents, tenant);
    append_field(contents, cell);
  }
  return write_sealed_file(path_, contents);
}

}  // namespace sluice::cli

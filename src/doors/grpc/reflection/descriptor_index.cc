#include "doors/grpc/reflection/descriptor_index.h"

#include <algorithm>

#include "net/grpc/protobuf_wire.h"

namespace sluice::doors {
namespace {

using net::WireReader;

// "a.b" and "C" make "a.b.C".
std::string join(const std::string& scope, std::string_view name) {
  return scope.empty() ? std::string(name) : scope + "." + std::string(name);
}

// The first field with this number. Every descriptor has its name in field 1.
std::string_view bytes_of(std::string_view message, std::uint32_t field) {
  WireReader reader(message);
  while (reader.next())
    if (reader.field() == field) return reader.bytes();
  return {};
}
std::string_view name_of(std::string_view message) { return bytes_of(message, 1); }

// Calls `visit(field, bytes)` for each field that holds bytes.
template <class Visit>
void for_each_part(std::string_view message, Visit&& visit) {
  WireReader reader(message);
  while (reader.next())
    if (reader.type() == net::WireType::kBytes) visit(reader.field(), reader.bytes());
}

}  // namespace

DescriptorIndex::DescriptorIndex(std::string_view descriptor_set) {
  for_each_part(descriptor_set, [this](std::uint32_t field, std::string_view bytes) {
    if (field == 1) add_file(bytes);
  });
  std::ranges::sort(services_);
}

const DescriptorIndex& DescriptorIndex::embedded() {
  static const DescriptorIndex index(embedded_descriptor_set());
  return index;
}

// The numbers below are from google/protobuf/descriptor.proto.
void DescriptorIndex::add_file(std::string_view bytes) {
  const std::string_view name = name_of(bytes);
  const std::string package(bytes_of(bytes, 2));
  File& file = files_[name];
  file.bytes = bytes;
  for_each_part(bytes, [&](std::uint32_t field, std::string_view part) {
    switch (field) {
      case 3:
        file.imports.push_back(part);
        break;
      case 4:
        add_message(name, package, part);
        break;
      case 5:
        add_enum(name, package, part);
        break;
      case 6:
        add_service(name, package, part);
        break;
      default:
        break;
    }
  });
}

void DescriptorIndex::add_message(std::string_view file, const std::string& scope, std::string_view bytes) {
  const std::string name = join(scope, name_of(bytes));
  add_symbol(file, name, SymbolKind::kMessage);
  for_each_part(bytes, [&](std::uint32_t field, std::string_view part) {
    switch (field) {
      case 2:
      case 8:
        add_symbol(file, join(name, name_of(part)));
        break;  // fields and oneofs
      case 3:
        add_message(file, name, part);
        break;
      case 4:
        add_enum(file, name, part);
        break;
      default:
        break;
    }
  });
}

void DescriptorIndex::add_enum(std::string_view file, const std::string& scope, std::string_view bytes) {
  add_symbol(file, join(scope, name_of(bytes)));
  for_each_part(bytes, [&](std::uint32_t field, std::string_view part) {
    if (field == 2)
      add_symbol(file, join(scope, name_of(part)));  // enum values are in the scope of their enum's parent
  });
}

void DescriptorIndex::add_service(std::string_view file, const std::string& scope, std::string_view bytes) {
  const std::string name = join(scope, name_of(bytes));
  services_.push_back(name);
  add_symbol(file, name);
  for_each_part(bytes, [&](std::uint32_t field, std::string_view part) {
    if (field == 2) add_symbol(file, join(name, name_of(part)));
  });
}

void DescriptorIndex::add_symbol(std::string_view file, std::string name, SymbolKind kind) {
  symbols_.insert_or_assign(std::move(name), Symbol{file, kind});
}

std::vector<std::string_view> DescriptorIndex::file(std::string_view name) const {
  std::vector<std::string_view> names = {name};
  std::vector<std::string_view> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto file = files_.find(names[i]);
    if (file == files_.end()) continue;
    found.push_back(file->second.bytes);
    for (const std::string_view import : file->second.imports)
      if (std::ranges::find(names, import) == names.end()) names.push_back(import);
  }
  return found;
}

std::vector<std::string_view> DescriptorIndex::file_containing(std::string_view symbol) const {
  const auto known = symbols_.find(symbol);
  return known == symbols_.end() ? std::vector<std::string_view>() : file(known->second.file);
}

bool DescriptorIndex::is_message(std::string_view symbol) const {
  const auto known = symbols_.find(symbol);
  return known != symbols_.end() && known->second.kind == SymbolKind::kMessage;
}

}  // namespace sluice::doors

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::doors {

// The google.protobuf.FileDescriptorSet of all files in api/, embedded by the build.
std::string_view embedded_descriptor_set();

// Answers reflection queries about a FileDescriptorSet. Immutable; thread-safe. All results point into the
// bytes it was made from.
class DescriptorIndex {
 public:
  // REQUIRES: a well-formed FileDescriptorSet that outlives the index.
  explicit DescriptorIndex(std::string_view descriptor_set);

  // The index of embedded_descriptor_set().
  static const DescriptorIndex& embedded();

  // A serialized FileDescriptorProto followed by the files it imports; empty if there is no such file or
  // symbol. Symbols are full names of services, methods, messages, fields, enums and enum values, without a
  // leading dot.
  std::vector<std::string_view> file(std::string_view name) const;
  std::vector<std::string_view> file_containing(std::string_view symbol) const;

  bool is_message(std::string_view symbol) const;
  const std::vector<std::string>& services() const { return services_; }

 private:
  struct File {
    std::string_view bytes;
    std::vector<std::string_view> imports;
  };
  enum class SymbolKind { kMessage, kOther };
  struct Symbol {
    std::string_view file;
    SymbolKind kind;
  };

  void add_file(std::string_view bytes);
  void add_message(std::string_view file, const std::string& scope, std::string_view bytes);
  void add_enum(std::string_view file, const std::string& scope, std::string_view bytes);
  void add_service(std::string_view file, const std::string& scope, std::string_view bytes);
  void add_symbol(std::string_view file, std::string name, SymbolKind kind = SymbolKind::kOther);

  std::map<std::string_view, File> files_;
  std::map<std::string, Symbol, std::less<>> symbols_;
  std::vector<std::string> services_;
};

}  // namespace sluice::doors

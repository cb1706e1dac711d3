#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

// A file that one run of the process leaves to the next: it is there as it was written, or it is an error.
//
//   std::string contents;
//   append_field(contents, "policies.yaml");
//   if (auto kept = write_sealed_file("sluice.state/files", contents); !kept) report(kept.error());
//
// Written beside its place, brought to the disk and renamed, so that a crash leaves the old or the new one,
// and readable by its owner only. Before the contents stands their SHA-256: what was cut short, or changed by
// a disk or by hand, is noticed. It is no signature: who may write the file may write another, so one that
// belongs to somebody else, or that others may write, is an error, too.
namespace sluice {

// Makes the folder if it is not there. kUnavailable says what the system refused.
Result<void> write_sealed_file(const std::string& path, std::string_view contents);

// kNotFound: there is none. kFailedPrecondition: it is damaged, or no such file. kUnavailable: the system
// refused, or it has more than `bytes_max`.
Result<std::string> read_sealed_file(const std::string& path, std::size_t bytes_max);

// Fields of such contents, one after the other: eight bytes of length, and the bytes.
void append_field(std::string& contents, std::string_view field);

// Reads them back. Not thread-safe.
class FieldReader {
 public:
  explicit FieldReader(std::string_view contents) : rest_(contents) {}
  // None: that was the last, or it is cut short.
  std::optional<std::string_view> next();
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// The same for a reader who knows what has to come: from the first field on that is not, all are nothing, and
// ok() is false. Not thread-safe.
class StrictFieldReader {
 public:
  explicit StrictFieldReader(std::string_view contents) : fields_(contents) {}
  bool ok() const { return ok_; }
  bool at_end() const { return fields_.at_end() || !ok_; }
  void refuse() { ok_ = false; }

  std::string text();
  std::int64_t number();

 private:
  FieldReader fields_;
  bool ok_ = true;
};

// Sixteen digits that stand for this text, for the name of a file.
std::string short_digest(std::string_view text);

}  // namespace sluice

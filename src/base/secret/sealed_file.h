#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

// A file that one run of the process leaves to the next. It is read back exactly as written, or it is an
// error.
//
//   std::string contents;
//   append_field(contents, "policies.yaml");
//   if (auto kept = write_sealed_file("sluice.state/files", contents); !kept) report(kept.error());
//
// It is written under a temporary name, synced and renamed, so that a crash leaves the old or the new file.
// Only its owner can read it. The contents are preceded by their SHA-256, so truncation and changes by a disk
// or by hand are detected. This is not a signature: anyone who can write the file can forge it. So a file
// that belongs to another user, or that others can write, is also an error.
namespace sluice {

// Creates the folder if it does not exist. kUnavailable says what the system refused.
Result<void> write_sealed_file(const std::string& path, std::string_view contents);

// kNotFound: there is no file. kFailedPrecondition: it is damaged, or not a sealed file. kUnavailable: the
// system refused, or it is larger than `bytes_max`.
Result<std::string> read_sealed_file(const std::string& path, std::size_t bytes_max);

// Fields of the contents, one after the other: eight bytes of length, then the bytes.
void append_field(std::string& contents, std::string_view field);

// Reads them back. Not thread-safe.
class FieldReader {
 public:
  explicit FieldReader(std::string_view contents) : rest_(contents) {}
  // None: there are no more fields, or the field is truncated.
  std::optional<std::string_view> next();
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// The same for a reader that knows which fields must come: from the first invalid field on, all fields read
// as empty, and ok() is false. Not thread-safe.
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

// Sixteen digits derived from this text, for a file name.
std::string short_digest(std::string_view text);

}  // namespace sluice

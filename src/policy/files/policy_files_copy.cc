#include "policy/files/policy_files_copy.h"

#include <filesystem>

#include "base/limits/control_limits.h"
#include "base/secret/sealed_file.h"

namespace sluice {
namespace {

// All paths as one text. Absolute, because they mean other files in another working directory.
std::string joined(const std::vector<std::string>& paths) {
  std::string text;
  std::error_code failed;
  for (const std::string& path : paths) append_field(text, std::filesystem::absolute(path, failed).string());
  return text;
}

}  // namespace

std::string policy_files_copy(const std::string& state_dir, const std::vector<std::string>& paths) {
  return state_dir + "/files-" + short_digest(joined(paths));
}

Result<void> keep_policy_files(const std::string& copy, const std::vector<std::string>& paths,
                               const std::vector<PolicyFile>& files) {
  std::string contents;
  append_field(contents, joined(paths));
  for (const PolicyFile& file : files) {
    append_field(contents, file.path);
    append_field(contents, file.text);
  }
  if (contents.size() > kPolicyCopyBytesMax)
    return std::unexpected(
        Error{ErrorCode::kUnavailable,
              "it would be larger than " + std::to_string(kPolicyCopyBytesMax >> 20) + " MiB", ""});
  if (read_sealed_file(copy, kPolicyCopyBytesMax) == contents) return {};
  return write_sealed_file(copy, contents);
}

Result<std::vector<PolicyFile>> kept_policy_files(const std::string& copy,
                                                  const std::vector<std::string>& paths) {
  const auto contents = read_sealed_file(copy, kPolicyCopyBytesMax);
  if (!contents) return std::unexpected(contents.error());
  FieldReader fields(*contents);
  const auto of = fields.next();
  std::vector<PolicyFile> files;
  while (of && !fields.at_end()) {
    const auto path = fields.next(), text = fields.next();
    if (!path || !text) break;
    files.push_back({std::string(*path), std::string(*text)});
  }
  if (!of || *of != joined(paths) || !fields.at_end())
    return std::unexpected(Error{ErrorCode::kFailedPrecondition, copy + ": it is a copy of other files", ""});
  return files;
}

}  // namespace sluice

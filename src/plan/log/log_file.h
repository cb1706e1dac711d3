#pragma once

#include <expected>
#include <string>

#include "plan/log/line_reader.h"

namespace sluice::plan {

// Opens a log for sequential reading: a file, or standard input if the path is "-". Gzip data is unpacked on
// the fly, whatever the file name; several concatenated members are supported. The error is a sentence that
// names the path.
std::expected<ReadBytes, std::string> open_log(const std::string& path);

// Unpacks the bytes of `packed` if they are gzip; otherwise passes them through.
ReadBytes unpacked(ReadBytes packed, const std::string& name);

}  // namespace sluice::plan

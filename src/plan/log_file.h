#pragma once

#include <expected>
#include <string>

#include "plan/line_reader.h"

namespace sluice::plan {

// Opens a log to be read from front to back: a file, or standard input if the path is "-". What begins like
// gzip is unpacked on the way, whatever its name, several members one after the other included. The error is
// a sentence that names the path.
std::expected<ReadBytes, std::string> open_log(const std::string& path);

// Unpacks what `packed` gives, if it is gzip; else gives it as it is.
ReadBytes unpacked(ReadBytes packed, const std::string& name);

}  // namespace sluice::plan

#pragma once

#include <string>
#include <string_view>

#include "doors/handlers.h"

namespace sluice::doors {

// A file that is part of the binary. The same content has the same tag on every node and after every restart.
// Thread-safe: it never changes.
class CachedFile {
 public:
  // `content_type` is a literal. `compressed`: the same bytes by gzip; empty: there are none.
  CachedFile(std::string_view content_type, std::string_view bytes, std::string_view compressed = {});

  // Answers with the bytes, or with 304 if the client has them already (If-None-Match).
  void answer(const HttpCall& call) const;

 private:
  const std::string_view content_type_, bytes_, compressed_;
  const std::string tag_;
};

}  // namespace sluice::doors

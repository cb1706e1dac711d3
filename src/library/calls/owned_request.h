#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/limiter.h>

namespace sluice::library {

// A copy of a request with its texts, for a check that goes on after the call that began it. Does not move.
// Immutable.
class OwnedRequest {
 public:
  explicit OwnedRequest(const Request& request);
  OwnedRequest(const OwnedRequest&) = delete;
  OwnedRequest& operator=(const OwnedRequest&) = delete;

  const Request& get() const { return request_; }

 private:
  std::string_view keep(std::string_view text);

  std::string texts_;  // all of them, one after the other
  std::vector<std::pair<std::string_view, std::string_view>> dimensions_;
  Request request_;
};

}  // namespace sluice::library

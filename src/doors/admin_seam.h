#pragma once

#include <functional>
#include <string_view>

#include "net/http_api.h"

namespace sluice::doors {

// The part of the HTTP API that changes things, seen from the doors: it lies in a layer above them. One per
// loop, on its thread.
class AdminSeam {
 public:
  virtual ~AdminSeam() = default;
  virtual bool handles(std::string_view path) const = 0;
  virtual void handle(const net::HttpRequest& request, net::HttpResponse& response,
                      const std::function<net::Application::HttpLater()>& defer) = 0;
  virtual void tick() = 0;  // answers that have come are sent
};

}  // namespace sluice::doors

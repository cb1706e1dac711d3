// A filter of a gateway. It limits by tenant and user, adds the headers that clients expect, answers 429
// itself, and never keeps a thread of the gateway waiting: the request goes on when the answer is there.
//
// The gateway around it is the least that shows the filter: it reads requests as lines "TENANT USER PATH"
// from standard input, and prints what it would answer.
#include <sluice/open.h>

#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

struct HttpRequest {
  std::string tenant, user, path;
};
struct HttpResponse {
  int status = 200;
  std::map<std::string, std::string> headers;
};

class RateLimitFilter {
 public:
  using Next = std::function<void(HttpResponse)>;

  explicit RateLimitFilter(sluice::Limiter& limiter) : limiter_(limiter) {}

  // Calls `next` with 200 if the request may go on, else with the answer for the client.
  void on_request(const HttpRequest& request, Next next) {
    limiter_.check_async({.key = request.user, .tenant = request.tenant, .resource = request.path},
                         [next = std::move(next)](const sluice::Answer& answer) { next(response(answer)); });
  }

 private:
  static HttpResponse response(const sluice::Answer& answer) {
    HttpResponse response;
    if (answer.limit > 0) {
      response.headers["RateLimit-Limit"] = std::to_string(answer.limit);
      response.headers["RateLimit-Remaining"] = std::to_string(answer.remaining);
      response.headers["RateLimit-Reset"] = seconds(answer.reset_after);
    }
    if (answer.allowed) return response;
    response.status = answer.trouble == sluice::Trouble::kInvalid ? 400
                      : answer.trouble == sluice::Trouble::kNone  ? 429
                                                                  : 503;
    if (answer.retry_after.count() > 0) response.headers["Retry-After"] = seconds(answer.retry_after);
    return response;
  }
  // Headers count whole seconds. Rounded up: who comes back earlier is refused again.
  static std::string seconds(std::chrono::milliseconds time) {
    return std::to_string((time.count() + 999) / 1000);
  }

  sluice::Limiter& limiter_;
};

int main() {
  const auto opened = sluice::open_memory({.policies = {.file = "policies.yaml"}});
  if (!opened) {
    std::cerr << opened.error << '\n';
    return 1;
  }
  RateLimitFilter filter(*opened.limiter);
  for (std::string line; std::getline(std::cin, line);) {
    HttpRequest request;
    std::istringstream(line) >> request.tenant >> request.user >> request.path;
    filter.on_request(request, [](const HttpResponse& response) {
      std::cout << response.status;
      for (const auto& [name, value] : response.headers) std::cout << ' ' << name << ": " << value;
      std::cout << '\n';
    });
  }
}

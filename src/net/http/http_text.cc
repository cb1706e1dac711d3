#include "net/http/http_text.h"

#include <charconv>
#include <ctime>

namespace sluice::net {

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

void set_problem(HttpResponse& response, int status, std::string_view detail) {
  response.status = status;
  response.content_type = "application/problem+json";
  response.body = R"({"type":"about:blank","title":")";
  response.body += reason_phrase(status);
  response.body += R"(","status":)";
  append_number(response.body, static_cast<std::uint64_t>(status));
  response.body += R"(,"detail":")";
  response.body += detail;
  response.body += "\"}\n";
  if (status == 503) response.headers.emplace_back("retry-after", "1");
}

void split_target(std::string_view target, std::string_view& path, std::string_view& query) {
  const std::size_t mark = target.find('?');
  path = target.substr(0, mark);
  query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

std::string http_date(std::int64_t unix_seconds) {
  const std::time_t seconds = unix_seconds;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::string date(40, '\0');
  date.resize(std::strftime(date.data(), date.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts));
  return date;
}

void append_number(std::string& out, std::uint64_t number) {
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), number);
  out.append(digits, end);
}

}  // namespace sluice::net

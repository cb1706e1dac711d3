#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "net/http/http_api.h"

namespace sluice::doors {

// One part of the API that the operator has deprecated. Immutable except for its counter; thread-safe.
class DeprecationNotice {
 public:
  // `since` and `sunset` in Unix microseconds. `sunset` 0: no date yet.
  DeprecationNotice(std::string path, std::int64_t since_us, std::int64_t sunset_us, std::string_view link);

  const std::string& path() const { return path_; }
  std::uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  void count_call() const { calls_.fetch_add(1, std::memory_order_relaxed); }

  //   Deprecation: @1793491200                                (RFC 9745)
  //   Sunset: Sat, 01 May 2027 00:00:00 GMT                   (RFC 8594)
  //   Link: </openapi.yaml>; rel="deprecation"
  void add_headers(net::HttpResponse& response) const;

 private:
  const std::string path_;
  const std::string since_;
  const std::string sunset_;  // empty: none
  const std::string link_;
  mutable std::atomic<std::uint64_t> calls_ = 0;
};

// All deprecations that the operator configured. Thread-safe.
//
//   /v1/rules                          deprecated since the server started
//   /v1/rules=2026-11-01               since that day, or an instant as 2026-11-01T12:00:00Z
//   /v1/rules=2026-11-01..2027-05-01   and removed from the second date on
//   /v1/rules=..2027-05-01
//   /v1/policies/*/versions            a star matches one segment
//
// Each entry covers its path and everything below it. If several match, the longest wins.
class Deprecations {
 public:
  // What the list is validated against, and what the notices have in common.
  struct Context {
    std::span<const std::string> api;  // every path there is, with stars
    std::string_view link;             // where callers find details: a URL or a path
    std::int64_t now_us = 0;
  };
  // Parses a comma-separated list; empty: none. kInvalidArgument for entries that are malformed or match
  // nothing in the API.
  static Result<std::shared_ptr<const Deprecations>> parse(std::string_view list, const Context& context);

  // Null if this path is not deprecated.
  const DeprecationNotice* find(std::string_view path) const;
  // Calls by path, in Prometheus text format, so that an operator sees what is still in use.
  std::string metrics() const;

 private:
  std::vector<std::unique_ptr<const DeprecationNotice>> notices_;  // the longest paths first
};

}  // namespace sluice::doors

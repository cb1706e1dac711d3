#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cctype>
#include <set>
#include <string>

#include "admin/admin_door.h"
#include "doors/app.h"
#include "doors/http/openapi.h"

namespace sluice::admin {
namespace {

// "GET /v1/rules/*", and "any /v1/authorize" for a path that accepts every method.
using Operations = std::set<std::string>;

// "/v1/rules/{id}" → "/v1/rules/*"
std::string with_stars(const std::string& path) {
  std::string stars;
  for (std::size_t at = 0; at < path.size(); ++at) {
    stars.push_back(path[at] == '{' ? '*' : path[at]);
    if (path[at] == '{') at = path.find('}', at);
  }
  return stars;
}

// Methods as in an Allow header. Every path with GET also has HEAD.
void add(Operations& operations, std::string_view methods, std::string_view path) {
  while (!methods.empty()) {
    const std::size_t end = std::min(methods.find(", "), methods.size());
    if (methods.substr(0, end) != "HEAD")
      operations.insert(std::string(methods.substr(0, end)) + ' ' + std::string(path));
    methods.remove_prefix(std::min(end + 2, methods.size()));
  }
}

Operations served() {
  Operations operations;
  for (const auto& [path, methods] : doors::http_paths())
    add(operations, methods.empty() ? "any" : methods, path);
  for (const auto& [path, methods] : admin_paths()) add(operations, methods, path);
  return operations;
}

Operations documented() {
  Operations operations;
  const YAML::Node document = YAML::Load(std::string(doors::embedded_openapi()));
  for (const auto& item : document["paths"]) {
    const std::string path = with_stars(item.first.as<std::string>());
    if (item.second["x-any-method"]) {
      operations.insert("any " + path);
      continue;
    }
    for (const auto& entry : item.second) {
      std::string method = entry.first.as<std::string>();
      if (method == "parameters" || method == "description" || method == "x-port") continue;
      for (char& c : method) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      operations.insert(method + ' ' + path);
    }
  }
  return operations;
}

TEST(RoutesTest, EveryPathIsInTheDocumentAndNothingElse) { EXPECT_EQ(served(), documented()); }

}  // namespace
}  // namespace sluice::admin

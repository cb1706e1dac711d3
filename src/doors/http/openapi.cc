#include "doors/http/openapi.h"

#include <array>
#include <bit>
#include <string>

#include "base/secret/hash.h"
#include "base/text/encode.h"
#include "doors/handlers.h"

namespace sluice::doors {
namespace {

// The same content has the same tag on every node and after every restart.
const std::string& tag_of_content() {
  static const std::string tag = [] {
    const KeyHash hash = KeyHasher::from_text("sluice openapi")(embedded_openapi());
    const auto bytes = std::bit_cast<std::array<char, sizeof hash>>(hash);
    return '"' + to_hex({bytes.data(), bytes.size()}) + '"';
  }();
  return tag;
}

}  // namespace

// GET /openapi.yaml. May be cached: a request with a current ETag (If-None-Match) gets a 304.
Result<void> http_openapi(DoorContext&, const Caller&, const HttpCall& call) {
  net::HttpResponse& response = call.reply.response;
  response.content_type = "application/yaml";
  response.headers.emplace_back("etag", tag_of_content());
  response.headers.emplace_back("cache-control", "public, max-age=300");
  // A list of tags, possibly weak ones. Tags are quoted, so ours cannot occur within another.
  const std::string_view known = call.request.header("if-none-match");
  if (known == "*" || known.contains(tag_of_content()))
    response.status = 304;
  else
    response.body = embedded_openapi();
  return {};
}

}  // namespace sluice::doors

#include "doors/http/openapi.h"

#include "doors/http/cached_file.h"

namespace sluice::doors {

// GET /openapi.yaml. May be cached: a request with a current ETag (If-None-Match) gets a 304.
Result<void> http_openapi(DoorContext&, const Caller&, const HttpCall& call) {
  static const CachedFile file("application/yaml", embedded_openapi());
  call.reply.response.headers.emplace_back("cache-control", "public, max-age=300");
  file.answer(call);
  return {};
}

}  // namespace sluice::doors

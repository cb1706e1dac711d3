#include "doors/http/cached_file.h"

#include <array>
#include <bit>

#include "base/secret/hash.h"
#include "base/text/encode.h"

namespace sluice::doors {
namespace {

std::string tag_of(std::string_view bytes) {
  const KeyHash hash = KeyHasher::from_text("sluice openapi")(bytes);
  const auto parts = std::bit_cast<std::array<char, sizeof hash>>(hash);
  return '"' + to_hex({parts.data(), parts.size()}) + '"';
}

// Whether the client takes gzip. A weight of zero ("gzip;q=0") is a refusal; nobody sends one for gzip alone.
bool takes_gzip(const net::HttpRequest& request) {
  const std::string_view accepted = request.header("accept-encoding");
  return accepted.contains("gzip") && !accepted.contains("gzip;q=0");
}

}  // namespace

CachedFile::CachedFile(std::string_view content_type, std::string_view bytes, std::string_view compressed)
    : content_type_(content_type), bytes_(bytes), compressed_(compressed), tag_(tag_of(bytes)) {}

void CachedFile::answer(const HttpCall& call) const {
  net::HttpResponse& response = call.reply.response;
  response.content_type = content_type_;
  response.headers.emplace_back("etag", tag_);
  if (!compressed_.empty()) response.headers.emplace_back("vary", "accept-encoding");
  // A list of tags, possibly weak ones. Tags are quoted, so ours cannot occur within another.
  const std::string_view known = call.request.header("if-none-match");
  if (known == "*" || known.contains(tag_)) {
    response.status = 304;
  } else if (!compressed_.empty() && takes_gzip(call.request)) {
    response.headers.emplace_back("content-encoding", "gzip");
    response.body = compressed_;
  } else {
    response.body = bytes_;
  }
}

}  // namespace sluice::doors

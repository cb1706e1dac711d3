// GET / and the files of the page. They hold nothing secret: everything that the page shows comes from the
// API, which asks for a token.
#include "doors/http/dashboard/dashboard.h"

#include "doors/http/cached_file.h"

namespace sluice::doors {
namespace {

// Nothing from elsewhere, nothing inline; nobody may show the page in a frame.
constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const CachedFile& file_at(std::string_view path) {
  static const CachedFile page("text/html; charset=utf-8", embedded_dashboard_html());
  static const CachedFile picture("image/svg+xml", embedded_dashboard_svg());
  static const CachedFile style("text/css; charset=utf-8", embedded_dashboard_css(),
                                embedded_dashboard_css_gz());
  static const CachedFile script("text/javascript; charset=utf-8", embedded_dashboard_js(),
                                 embedded_dashboard_js_gz());
  if (path.ends_with(".js")) return script;
  if (path.ends_with(".css")) return style;
  return path.ends_with(".svg") ? picture : page;
}

}  // namespace

// `no-cache`: browsers ask each time whether theirs is current, so that after an update page and script fit.
Result<void> http_dashboard(DoorContext&, const Caller&, const HttpCall& call) {
  net::HttpResponse& response = call.reply.response;
  response.headers.emplace_back("cache-control", "no-cache");
  response.headers.emplace_back("content-security-policy", kContentSecurityPolicy);
  response.headers.emplace_back("x-content-type-options", "nosniff");
  response.headers.emplace_back("referrer-policy", "no-referrer");
  response.headers.emplace_back("cross-origin-resource-policy", "same-origin");
  file_at(call.request.path).answer(call);
  return {};
}

}  // namespace sluice::doors

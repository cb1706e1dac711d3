#pragma once

#include <string_view>

// The files of the dashboard: web/dist as it was when this binary was built. What is large is there twice, as
// it is and by gzip.
namespace sluice::doors {

std::string_view embedded_dashboard_html();
std::string_view embedded_dashboard_svg();
std::string_view embedded_dashboard_css();
std::string_view embedded_dashboard_css_gz();
std::string_view embedded_dashboard_js();
std::string_view embedded_dashboard_js_gz();

}  // namespace sluice::doors

#include "telemetry/trace/otlp_target.h"

#include <algorithm>

#include "base/limits/trace_limits.h"
#include "base/text/encode.h"
#include "base/try.h"

namespace sluice {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kTracesPath = "/v1/traces";

std::unexpected<Error> refused(std::string_view setting, std::string_view why) {
  return std::unexpected(Error{ErrorCode::kInvalidArgument, std::string(why), std::string(setting)});
}

std::string_view without_spaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The inverse of percent_encode(). Nothing if a % is not followed by two digits.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto byte = from_hex(text.substr(i + 1, 2));
    if (!byte || byte->size() != 1) return std::nullopt;
    out += *byte;
    i += 2;
  }
  return out;
}

// "a=1,b=%20x"
Result<Pairs> read_pairs(std::string_view setting, std::string_view text, std::size_t at_most) {
  Pairs pairs;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view pair = without_spaces(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      return refused(setting, "write it as name=value,name=value");
    const auto name = percent_decoded(without_spaces(pair.substr(0, equals)));
    const auto value = percent_decoded(without_spaces(pair.substr(equals + 1)));
    if (!name || !value) return refused(setting, "a % must be followed by two hexadecimal digits");
    if (pairs.size() == at_most)
      return refused(setting, "there are more than " + std::to_string(at_most) + " entries");
    pairs.emplace_back(*name, *value);
  }
  return pairs;
}

bool is_header_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

bool is_header_value(std::string_view value) {
  return std::ranges::all_of(value,
                             [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

Result<Pairs> read_headers(std::string_view setting, std::string_view text) {
  Pairs headers = SLUICE_TRY(read_pairs(setting, text, kOtlpHeadersMax));
  for (const auto& [name, value] : headers)
    if (!is_header_name(name) || !is_header_value(value))
      return refused(setting, "a name or a value has characters that no header may have");
  return headers;
}

// Splits a URL into the server and the path.
Result<OtlpTarget> read_endpoint(std::string_view setting, std::string_view url, bool adds_path) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos)
    return refused(setting, "write it as http://HOST:PORT or https://HOST:PORT");
  const std::size_t slash = url.find('/', scheme + 3);
  auto server = net::read_server_url(url.substr(0, slash));
  if (!server) return refused(setting, server.error());
  OtlpTarget target;
  target.server = std::move(*server);
  target.path = slash == std::string_view::npos ? "" : std::string(url.substr(slash));
  if (!std::ranges::all_of(target.path, [](char c) { return c > 0x20 && c < 0x7f; }))
    return refused(setting, "the path has characters that must be percent-encoded");
  while (adds_path && target.path.ends_with('/')) target.path.pop_back();
  if (adds_path) target.path += kTracesPath;
  if (target.path.empty()) target.path = "/";
  return target;
}

void set_attribute(ResourceAttributes& attributes, std::string_view name, std::string_view value) {
  const auto known = std::ranges::find(attributes, name, &std::pair<std::string, std::string>::first);
  if (known == attributes.end())
    attributes.emplace_back(name, value);
  else
    known->second = value;
}

}  // namespace

Result<std::optional<OtlpTarget>> read_otlp_target(
    const std::string& flag, const std::function<const char*(const char* name)>& environment) {
  const auto variable = [&](const char* name) -> std::string {
    const char* const value = environment(name);
    return value ? value : "";
  };
  const std::string endpoint = variable("OTEL_EXPORTER_OTLP_ENDPOINT"),
                    traces = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  if (flag.empty() && ((endpoint.empty() && traces.empty()) || variable("OTEL_SDK_DISABLED") == "true"))
    return std::nullopt;
  OtlpTarget target =
      SLUICE_TRY(!flag.empty()     ? read_endpoint("--otlp", flag, true)
                 : !traces.empty() ? read_endpoint("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", traces, false)
                                   : read_endpoint("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint, true));
  const std::string protocol = variable("OTEL_EXPORTER_OTLP_PROTOCOL");
  if (flag.empty() && !protocol.empty() && protocol != "http/protobuf")
    return refused("OTEL_EXPORTER_OTLP_PROTOCOL",
                   "only http/protobuf is supported; name the collector's HTTP port with --otlp");
  target.headers =
      SLUICE_TRY(read_headers("OTEL_EXPORTER_OTLP_HEADERS", variable("OTEL_EXPORTER_OTLP_HEADERS")));
  target.tls.ca_file = variable("OTEL_EXPORTER_OTLP_CERTIFICATE");
  target.tls.certificate_file = variable("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE");
  target.tls.key_file = variable("OTEL_EXPORTER_OTLP_CLIENT_KEY");
  target.resource = {{"service.name", "sluice"}};
  for (const auto& [name, value] : SLUICE_TRY(
           read_pairs("OTEL_RESOURCE_ATTRIBUTES", variable("OTEL_RESOURCE_ATTRIBUTES"), kOtlpAttributesMax)))
    set_attribute(target.resource, name, value);
  if (const std::string name = variable("OTEL_SERVICE_NAME"); !name.empty())
    set_attribute(target.resource, "service.name", name);
  return target;
}

}  // namespace sluice

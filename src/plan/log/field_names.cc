#include "plan/log/field_names.h"

#include <array>
#include <initializer_list>

namespace sluice::plan {
namespace {

struct UsualField {
  LogField field;
  std::initializer_list<std::string_view> names;  // ours first; then those of nginx, Caddy, Envoy, …
};

const std::array<UsualField, kLogFields>& usual_fields() {
  static const std::array<UsualField, kLogFields> fields = {{
      {LogField::kTime,
       {"time", "timestamp", "@timestamp", "ts", "time_local", "time_iso8601", "msec", "datetime",
        "start_time"}},
      {LogField::kRequest, {"request", "request_line"}},
      {LogField::kMethod, {"method", "request_method", "http_method", "verb", "request.method"}},
      {LogField::kPath, {"path", "uri", "request_uri", "url", "request_path", "request.uri"}},
      {LogField::kProtocol, {"protocol", "server_protocol", "proto", "request.proto"}},
      {LogField::kIp,
       {"ip", "remote_addr", "client_ip", "remote_ip", "clientip", "client", "client_addr",
        "request.client_ip", "request.remote_ip"}},
      {LogField::kUser, {"user", "remote_user", "user_id", "userid", "username", "auth_user"}},
      {LogField::kStatus, {"status", "status_code", "response_code", "response_status", "http_status"}},
      {LogField::kBytes, {"bytes", "body_bytes_sent", "bytes_sent", "size"}},
      {LogField::kReferer, {"referer", "http_referer", "referrer"}},
      {LogField::kUserAgent, {"user_agent", "http_user_agent", "agent", "useragent"}},
      {LogField::kHost, {"host", "http_host", "vhost", "server_name", "authority", "request.host"}},
      {LogField::kTenant, {"tenant", "tenant_id"}},
      {LogField::kApiKey, {"api_key", "apikey", "x_api_key"}},
      {LogField::kTier, {"tier"}},
  }};
  return fields;
}

}  // namespace

FieldNames::FieldNames() {
  for (const UsualField& usual : usual_fields())
    for (const std::string_view name : usual.names) by_name_.emplace(name, index_of(usual.field));
}

std::expected<FieldIndex, std::string> FieldNames::ask_for(std::string_view name) {
  if (const auto known = find(name)) return *known;
  if (name.empty() || name.size() > kNameBytesMax)
    return std::unexpected("a field's name must have from 1 to " + std::to_string(kNameBytesMax) + " bytes");
  if (asked_.size() == kLogFieldsAskedMax)
    return std::unexpected("at most " + std::to_string(kLogFieldsAskedMax) +
                           " fields besides the usual ones can be used");
  const FieldIndex index = kLogFields + asked_.size();
  asked_.emplace_back(name);
  by_name_.emplace(name, index);
  return index;
}

std::string_view FieldNames::name_of(LogField field) {
  return *usual_fields().at(index_of(field)).names.begin();
}

}  // namespace sluice::plan

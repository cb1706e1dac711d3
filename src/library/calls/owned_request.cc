#include "library/calls/owned_request.h"

namespace sluice::library {

OwnedRequest::OwnedRequest(const Request& request) : request_(request) {
  std::size_t bytes = request.key.size() + request.tenant.size() + request.resource.size() +
                      request.policy_id.size() + request.request_id.size();
  for (const auto& [name, value] : request.dimensions) bytes += name.size() + value.size();
  texts_.reserve(bytes);  // so that no text moves
  for (std::string_view* const text :
       {&request_.key, &request_.tenant, &request_.resource, &request_.policy_id, &request_.request_id})
    *text = keep(*text);
  dimensions_.reserve(request.dimensions.size());
  for (const auto& [name, value] : request.dimensions) {
    const std::string_view own_name = keep(name);
    dimensions_.emplace_back(own_name, keep(value));
  }
  request_.dimensions = dimensions_;
}

std::string_view OwnedRequest::keep(std::string_view text) {
  const std::size_t at = texts_.size();
  texts_ += text;
  return std::string_view(texts_).substr(at);
}

}  // namespace sluice::library

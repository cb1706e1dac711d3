#include "doors/grpc/field_names.h"

#include <string>

namespace sluice::doors {

Error in_their_words(Error error, std::span<const FieldName> names) {
  for (const auto& [ours, theirs] : names) {
    if (error.field != ours) continue;
    error.field = theirs;
    if (error.message.starts_with(ours)) error.message.replace(0, ours.size(), theirs);
    break;
  }
  return error;
}

Error about_key_header(Error error) {
  constexpr FieldName kName{"request_id", kKeyHeader};
  return in_their_words(std::move(error), {&kName, 1});
}

std::unexpected<Error> is_empty(std::string_view field) {
  return invalid(std::string(field), std::string(field) + " must not be empty");
}

}  // namespace sluice::doors

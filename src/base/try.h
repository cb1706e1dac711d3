#pragma once

#include <expected>
#include <type_traits>
#include <utility>

// Passes an error on: gives the value of a Result, or returns from this function with the error.
//
//   Result<Policy> read_policy(std::string_view text) {
//     const Document document = SLUICE_TRY(parse(text));  // Result<Document>: the document
//     SLUICE_TRY(check_size(document));                   // Result<void>: nothing, if all is well
//     return Policy(document);
//   }
//
// It is the whole right side of a statement, or the whole statement: inside a larger expression the reader
// would miss the return. To change the error on its way, write the `if` out. Not for functions that must do
// something before they return; destructors run as with any return.
//
// A statement expression, which GCC and Clang both have.
#define SLUICE_TRY(expression)                                                                  \
  __extension__({                                                                               \
    auto&& sluice_tried = (expression);                                                         \
    if (!sluice_tried) [[unlikely]]                                                             \
      return std::unexpected(std::move(sluice_tried.error())); /* NOLINT: moved by intention */ \
    ::sluice::value_of(sluice_tried);                                                           \
  })

namespace sluice {

// For SLUICE_TRY: moves the value out; nothing of a Result<void>. REQUIRES: result.has_value()
template <class T, class E>
T value_of(std::expected<T, E>& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace sluice

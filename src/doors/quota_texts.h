#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "doors/text.h"
#include "engine/decision.h"

namespace sluice::doors {

// How limits are described in structured headers (RFC 9651): "burst";q=100;w=60. Remembers the latest texts:
// they depend on the limit and its numbers only, and writing one costs more than all that is written about
// where a client stands. Not thread-safe.
class QuotaTexts {
 public:
  // Name, quota and window. `qualifier` stands before the name if it is not empty; it must be the id of the
  // limit's policy. Takes at most quota_room().
  void write(const LimitStatus& status, std::string_view qualifier, TextCursor& out) {
    Place& place = places_[status.limit->identity.low % kPlaces];
    if (!place.holds(status, qualifier)) [[unlikely]] {
      write_anew(status, qualifier, place, out);
      return;
    }
    out.text({place.text, place.size});
  }
  // The name alone, with its quotes. The qualifier as above.
  void write_name(const LimitStatus& status, std::string_view qualifier, TextCursor& out) {
    const Place& place = places_[status.limit->identity.low % kPlaces];
    if (place.holds(status, qualifier)) [[likely]]
      out.text({place.text, place.name_size});
    else
      write_structured_name(status, qualifier, out);
  }

 private:
  // So many that some tens of limits in use rarely share a place.
  static constexpr std::size_t kPlaces = 128;
  struct Place {
    // Of a limit, the identity tells policy and name. Numbers live as long as the process.
    bool holds(const LimitStatus& status, std::string_view qualifier) const {
      return numbers == status.numbers && identity == status.limit->identity &&
             is_qualified == !qualifier.empty();
    }
    KeyHash identity;
    const LimitParams* numbers = nullptr;
    bool is_qualified = false;
    std::uint8_t name_size = 0;
    std::uint8_t size = 0;
    char text[128 - sizeof(KeyHash) - sizeof(void*) - 3];  // longer ones are not kept
  };
  static void write_structured_name(const LimitStatus& status, std::string_view qualifier, TextCursor& out);
  static void write_anew(const LimitStatus& status, std::string_view qualifier, Place& place,
                         TextCursor& out);

  std::array<Place, kPlaces> places_;
};

// A number within the bounds of structured integers.
void write_structured_integer(TextCursor& out, std::int64_t value);

// The room that suffices for a description, or for a name and two numbers.
constexpr std::size_t quota_room(std::string_view qualifier, std::string_view limit) {
  constexpr std::size_t kNumbersRoom = 48;
  return 3 * (qualifier.size() + limit.size()) + 3 + kNumbersRoom;
}

}  // namespace sluice::doors

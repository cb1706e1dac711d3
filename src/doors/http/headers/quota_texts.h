#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/secret/hash.h"
#include "doors/text.h"
#include "engine/decision/decision.h"

namespace sluice::doors {

// Describes limits in structured headers (RFC 9651): "burst";q=100;w=60. Caches the latest texts: they depend
// only on the limit and its numbers, and formatting one costs more than all other header values together. Not
// thread-safe.
class QuotaTexts {
 public:
  // Writes name, quota and window. `qualifier` precedes the name if it is not empty; it must be the id of the
  // limit's policy. Needs at most quota_room().
  void write(const LimitStatus& status, std::string_view qualifier, TextCursor& out) {
    Place& place = places_[status.limit->identity.low % kPlaces];
    if (!place.holds(status, qualifier)) [[unlikely]] {
      write_anew(status, qualifier, place, out);
      return;
    }
    out.text({place.text, place.size});
  }
  // The name alone, with its quotes. `qualifier` as above.
  void write_name(const LimitStatus& status, std::string_view qualifier, TextCursor& out) {
    const Place& place = places_[status.limit->identity.low % kPlaces];
    if (place.holds(status, qualifier)) [[likely]]
      out.text({place.text, place.name_size});
    else
      write_structured_name(status, qualifier, out);
  }

 private:
  // Enough that a few dozen limits in use rarely collide.
  static constexpr std::size_t kPlaces = 128;
  struct Place {
    // The identity of a limit stands for its policy and name. Numbers live as long as the process.
    bool holds(const LimitStatus& status, std::string_view qualifier) const {
      return numbers == status.numbers && identity == status.limit->identity &&
             is_qualified == !qualifier.empty();
    }
    KeyHash identity;
    const LimitParams* numbers = nullptr;
    bool is_qualified = false;
    std::uint8_t name_size = 0;
    std::uint8_t size = 0;
    char text[128 - sizeof(KeyHash) - sizeof(void*) - 3];  // longer texts are not cached
  };
  static void write_structured_name(const LimitStatus& status, std::string_view qualifier, TextCursor& out);
  static void write_anew(const LimitStatus& status, std::string_view qualifier, Place& place,
                         TextCursor& out);

  std::array<Place, kPlaces> places_;
};

// Writes a number clamped to the range of structured integers.
void write_structured_integer(TextCursor& out, std::int64_t value);

// Enough room for a description, or for a name and two numbers.
constexpr std::size_t quota_room(std::string_view qualifier, std::string_view limit) {
  constexpr std::size_t kNumbersRoom = 48;
  return 3 * (qualifier.size() + limit.size()) + 3 + kNumbersRoom;
}

}  // namespace sluice::doors

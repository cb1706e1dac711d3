#include "policy/envoy/envoy_names.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/secret/hash.h"
#include "base/text/encode.h"

namespace sluice {
namespace {

constexpr std::string_view kLettersAndDigits =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

// The bytes that are not encoded.
class PlainBytes {
 public:
  constexpr explicit PlainBytes(std::string_view also) {
    for (const char c : kLettersAndDigits) plain_[static_cast<unsigned char>(c)] = true;
    for (const char c : also) plain_[static_cast<unsigned char>(c)] = true;
  }
  constexpr bool operator[](char c) const { return plain_[static_cast<unsigned char>(c)]; }

 private:
  std::array<bool, 256> plain_{};
};
constexpr PlainBytes kInValues("-._~:@+=,;!$&'()");
constexpr PlainBytes kInKeys("-_~:@+=,;!$&'()");
constexpr PlainBytes kInIds("._-@+");

// Writes the text at `to`, where there is room for three times its size, and returns the end.
inline char* write_encoded(std::string_view text, const PlainBytes& plain, char* to) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (const char *at = text.data(), *const end = at + text.size();; ++at) {
    const char* const run_end = std::find_if_not(at, end, [&](char c) { return plain[c]; });
    to = std::copy(at, run_end, to);
    at = run_end;
    if (at == end) return to;
    const auto byte = static_cast<unsigned char>(*at);
    *to++ = '%';
    *to++ = kHex[byte >> 4];
    *to++ = kHex[byte & 15];
  }
}

// This many characters of a hash, letters and digits; the same on every node and forever.
std::string text_hash(std::string_view text, std::size_t size) {
  static const KeyHasher hasher = KeyHasher::from_text("sluice envoy descriptor");
  const KeyHash hash = hasher(text);
  std::string bytes;
  for (int shift = 0; bytes.size() < size; shift += 8)
    for (const std::uint64_t half : {hash.high, hash.low}) bytes.push_back(static_cast<char>(half >> shift));
  return to_base32(bytes);
}

std::string encoded(std::string_view text, const PlainBytes& plain) {
  std::string out(3 * text.size(), '\0');
  out.resize(static_cast<std::size_t>(write_encoded(text, plain, out.data()) - out.data()));
  return out;
}

constexpr std::size_t encoded_room(std::string_view text) { return 3 * text.size() + 2; }  // and a mark

char* write_keys(std::span<const EnvoyEntry> entries, char* to) {
  for (const EnvoyEntry& entry : entries) {
    *to++ = &entry == entries.data() ? '/' : '.';
    to = write_encoded(entry.name, kInKeys, to);
  }
  return to;
}

char* write_value(std::string_view value, char* to) {
  *to++ = '/';
  if (!value.empty()) [[likely]]
    return write_encoded(value, kInValues, to);
  *to++ = '%';
  return to;
}

// Calls `write`, which returns the end, with room for `room` bytes at the end of `out`. One resize for all
// bytes: a growth check per byte would cost more than the rest.
template <class Write>
void append_bytes(std::string& out, std::size_t room, const Write& write) {
  const std::size_t begin = out.size();
  out.resize_and_overwrite(begin + room, [&](char* data, std::size_t) {
    return static_cast<std::size_t>(write(data + begin) - data);
  });
}

[[gnu::cold, gnu::noinline]] void put_hash_instead(std::string& out, std::size_t begin) {
  const std::string hash = text_hash(std::string_view(out).substr(begin), sizeof(KeyHash));
  out.resize(begin);
  out.append("/~").append(hash);
}

void shorten_counter(std::string& out, std::size_t begin) {
  if (out.size() - begin > kResourceBytesMax) [[unlikely]]
    put_hash_instead(out, begin);
}

}  // namespace

std::string envoy_encoded_key(std::string_view key) { return encoded(key, kInKeys); }
std::string envoy_encoded(std::string_view value) { return encoded(value, kInValues); }

std::string envoy_resource_keys(std::span<const EnvoyEntry> entries) {
  std::size_t room = 0;
  for (const EnvoyEntry& entry : entries) room += encoded_room(entry.name);
  std::string keys;
  append_bytes(keys, room, [&](char* to) { return write_keys(entries, to); });
  return keys;
}

void append_envoy_resource(std::span<const EnvoyEntry> entries, std::string& out) {
  std::size_t room = 0;
  for (const EnvoyEntry& entry : entries) room += encoded_room(entry.name) + encoded_room(entry.value);
  append_bytes(out, room, [&](char* to) {
    to = write_keys(entries, to);
    for (const EnvoyEntry& entry : entries) to = write_value(entry.value, to);
    return to;
  });
}

void append_envoy_counter(std::span<const EnvoyEntry> entries, std::string_view unit, std::string& out) {
  const std::size_t begin = out.size();
  append_envoy_resource(entries, out);
  out.append("/").append(unit);
  shorten_counter(out, begin);
}

void append_envoy_counter(std::string_view resource_keys, std::span<const EnvoyEntry> entries,
                          std::string& out) {
  const std::size_t begin = out.size();
  std::size_t room = resource_keys.size();
  for (const EnvoyEntry& entry : entries) room += encoded_room(entry.value);
  append_bytes(out, room, [&](char* to) {
    to += resource_keys.copy(to, resource_keys.size());
    for (const EnvoyEntry& entry : entries) to = write_value(entry.value, to);
    return to;
  });
  shorten_counter(out, begin);
}

std::string envoy_resource(std::span<const EnvoyEntry> entries) {
  std::string resource;
  append_envoy_resource(entries, resource);
  return resource;
}

std::string envoy_policy_id(std::string_view domain, std::span<const EnvoyEntry> path, std::string_view place,
                            std::string_view ending) {
  constexpr std::size_t kHashRoom = 20;
  std::string id;
  bool is_whole = true;
  const auto add = [&](std::string_view text) {
    for (const char c : text) {
      id += kInIds[c] ? c : '-';
      is_whole &= kInIds[c];
    }
  };
  add(domain);
  for (const EnvoyEntry& entry : path) {
    id += '/';
    add(entry.name);
    if (entry.value.empty()) continue;
    id += ':';
    add(entry.value);
  }
  const std::size_t room = kNameBytesMax - ending.size();
  if (!is_whole || id.size() > room) {
    id.resize(std::min(id.size(), room - kHashRoom));
    id += '~' + text_hash(std::string(domain) + '\n' + std::string(place), 10);
  }
  return id.append(ending);
}

bool fits_stars(std::string_view pattern, std::string_view text) {
  const std::size_t first = pattern.find('*');
  if (first == pattern.npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, first))) return false;
  text.remove_prefix(first);
  pattern.remove_prefix(first + 1);
  // Each piece between two stars is matched at the first possible place; that leaves the most to the next.
  for (std::size_t star; (star = pattern.find('*')) != pattern.npos; pattern.remove_prefix(star + 1)) {
    const std::size_t at = text.find(pattern.substr(0, star));
    if (at == text.npos) return false;
    text.remove_prefix(at + star);
  }
  return text.ends_with(pattern);
}

}  // namespace sluice

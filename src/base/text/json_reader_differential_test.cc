// Random texts that are nearly JSON: JsonReader must accept exactly those that Boost.JSON accepts.

#include <gtest/gtest.h>

#include <array>
#include <boost/json/src.hpp>
#include <random>
#include <string>

#include "base/testing/seed.h"
#include "base/text/json_reader.h"

namespace sluice {
namespace {

bool reader_takes(std::string_view text) {
  std::string scratch;
  JsonReader reader(text, scratch);
  reader.skip();
  return reader.finish();
}

// Boost.JSON also refuses numbers that do not fit a double; JsonReader accepts them.
enum class Verdict { kTaken, kRefused, kUnclear };
Verdict oracle(std::string_view text) {
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse({text.data(), text.size()}, error);
  if (error == boost::json::error::exponent_overflow) return Verdict::kUnclear;
  return error ? Verdict::kRefused : Verdict::kTaken;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string next() {
    static constexpr std::array<std::string_view, 6> kTexts = {
        R"({"tenant_id":"search-service","resource":"/search","key":"user_123","tokens":12})",
        R"({"a":[1,-2.5,3e+4,0,true,false,null],"b":{"c":{}},"d":[]})",
        R"(["\"\\\/\b\f\n\r\t","\u00e9\ud83d\ude00","exactly8","more than eight"])",
        "[\"n\xc3\xa4"
        "he\",\"\xe2\x82\xac\",\"\xf0\x9f\x98\x80\", 1 ,\t2\r\n]",
        R"( -0.1E-10 )",
        R"("")",
    };
    std::string text(kTexts[pick(kTexts.size())]);
    for (std::size_t edits = pick(4); edits > 0; --edits) edit(text);
    return text;
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }

  void edit(std::string& text) {
    static constexpr std::string_view kBytes =
        "{}[]\",:\\u/ \t\n0123456789-+.eEtrufalsnd\x01\x1f\x7f\x80\xa0\xc3\xe2\xed\xf0\xff";
    const std::size_t at = pick(text.size() + 1);
    const char byte = kBytes[pick(kBytes.size())];
    switch (pick(4)) {
      case 0:
        text.insert(at, 1, byte);
        break;
      case 1:
        if (at < text.size()) text[at] = byte;
        break;
      case 2:
        if (at < text.size()) text.erase(at, 1 + pick(3));
        break;
      default:
        text.insert(at, text.substr(pick(text.size() + 1), pick(8)));
        break;
    }
  }

  std::mt19937_64 random_;
};

TEST(JsonReaderDifferential, TakesExactlyWhatBoostJsonTakes) {
  const std::uint64_t seed = sluice::test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  Mutator mutator(seed);
  int taken = 0;
  for (int i = 0; i < 50'000; ++i) {
    const std::string text = mutator.next();
    const Verdict expected = oracle(text);
    if (expected == Verdict::kUnclear) continue;
    ASSERT_EQ(reader_takes(text), expected == Verdict::kTaken) << text;
    taken += expected == Verdict::kTaken;
  }
  EXPECT_GT(taken, 5'000) << "the test must see both kinds";
}

}  // namespace
}  // namespace sluice

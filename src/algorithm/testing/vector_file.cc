#include "algorithm/testing/vector_file.h"

#include <charconv>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace sluice {
namespace {

class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  void line(const std::string& line) {
    ++number_;
    words_ = std::istringstream(line);
    std::string word;
    if (!(words_ >> word) || word[0] == '#') return;
    if (word == "fresh") {
      const LimitParams limit = next_.limit;
      next_ = {};
      next_.fresh = true;
      next_.limit = limit;
      limits_ = {limit};
      grants_.clear();
    } else if (word == "limit") {
      read_limit();
      if (next_.fresh) limits_.clear();
      limits_.push_back(next_.limit);
    } else if (word == "count_denied") {
      next_.on_denial = this->word() == "on" ? OnDenial::kCharge : OnDenial::kFree;
    } else {
      next_.refund_of.reset();
      if (word == "refund")
        read_refund();
      else if (word == "return")
        read_return();
      else
        read_charge(word);
      rows_.push_back(next_);
      next_.fresh = false;
    }
    if (words_ >> word) fail("unexpected " + word);
  }

  std::vector<VectorRow> rows() && { return std::move(rows_); }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw std::runtime_error(where() + ": " + why); }
  std::string where() const { return name_ + ":" + std::to_string(number_); }

  std::string word() {
    std::string word;
    if (!(words_ >> word)) fail("the line ends too early");
    return word;
  }

  std::int64_t number(std::string_view text) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) fail("not a number: " + std::string(text));
    return value;
  }
  std::int64_t number() { return number(word()); }

  void expect(std::string_view mark) {
    if (word() != mark) fail("expected " + std::string(mark));
  }

  std::int64_t duration_us(std::string_view text) const {
    static const std::map<std::string_view, std::int64_t> units = {
        {"us", 1},         {"ms", 1'000},        {"s", 1'000'000},
        {"m", 60'000'000}, {"h", 3'600'000'000}, {"d", 86'400'000'000}};
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto unit = units.find(text.substr(digits));
    if (unit == units.end()) fail("not a duration: " + std::string(text));
    return number(text.substr(0, digits)) * unit->second;
  }

  // limit gcra 10/1s burst 5 scale 100
  void read_limit() {
    const auto algorithm = algorithm_from_string(word());
    if (!algorithm) fail("no such algorithm");
    const std::string rate = word();
    const std::size_t slash = rate.find('/');
    if (slash == std::string::npos) fail("not a rate: " + rate);
    std::optional<std::int64_t> burst;
    std::int64_t scale = 0;
    for (std::string keyword; words_ >> keyword;) {
      if (keyword == "burst")
        burst = number();
      else if (keyword == "scale")
        scale = number();
      else
        fail("expected burst or scale");
    }
    const auto params = make_limit_params(
        *algorithm, {number(rate.substr(0, slash)), duration_us(std::string_view(rate).substr(slash + 1))},
        burst);
    if (!params) fail(params.error());
    next_.limit = *params;
    next_.limit.scale = scale;
  }

  // now_us cost | …
  void read_charge(const std::string& now) {
    next_.now_us = number(now);
    next_.cost = number();
    read_expected();
    grants_.emplace_back(next_.now_us, next_.cost, next_.outcome);
  }

  // refund now_us row | …
  void read_refund() {
    next_.now_us = number();
    next_.cost = 0;
    const std::int64_t row = number();
    if (row < 1 || row > std::ssize(grants_)) fail("no such row to give back");
    next_.refund_of = grants_[static_cast<std::size_t>(row - 1)];
    read_expected();
    grants_.emplace_back();
  }

  // return now_us units | …
  void read_return() {
    next_.now_us = number();
    next_.cost = 0;
    next_.refund_of = Grant(Grant::kAnyTime, number(), {});
    read_expected();
    grants_.emplace_back();
  }

  // … | allowed remaining retry_after_us reset_after_us | state
  void read_expected() {
    next_.where = where();
    expect("|");
    const std::string allowed = word();
    if (allowed != "yes" && allowed != "no") fail("allowed must be yes or no");
    next_.outcome.allowed = allowed == "yes";
    next_.outcome.remaining = number();
    next_.outcome.retry_after_us = number();
    next_.outcome.reset_after_us = number();
    expect("|");
    read_state();
  }

  // at first second, or the entries of a log; then `of N` if it is not kept under the current limit
  void read_state() {
    std::string text;
    std::getline(words_, text);
    const std::size_t of = text.find("of");
    words_ = std::istringstream(text.substr(0, of));
    next_.kept_by = next_.limit;
    if (of != std::string::npos) {
      std::istringstream rest(text.substr(of + 2));
      std::size_t number = 0;
      if (!(rest >> number) || number < 1 || number > limits_.size()) fail("no such limit since fresh");
      next_.kept_by = limits_[number - 1];
    }
    next_.state = {};
    next_.log.clear();
    if (next_.kept_by.algorithm != Algorithm::kSlidingLog) {
      next_.state = {number(), number(), number()};
      return;
    }
    for (std::string entry; words_ >> entry;) {
      const std::size_t colon = entry.find(':');
      if (colon == std::string::npos) fail("not an entry: " + entry);
      next_.log.push_back({number(entry.substr(0, colon)), number(entry.substr(colon + 1))});
    }
  }

  std::string name_;
  int number_ = 0;
  std::istringstream words_;
  VectorRow next_;
  std::vector<LimitParams> limits_;  // since `fresh`
  std::vector<Grant> grants_;        // of the rows since `fresh`
  std::vector<VectorRow> rows_;
};

}  // namespace

std::vector<VectorRow> read_vectors(std::istream& in, const std::string& name) {
  Reader reader(name);
  for (std::string line; std::getline(in, line);) reader.line(line);
  return std::move(reader).rows();
}

}  // namespace sluice

#include "usage/target/usage_target.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/limits/usage_limits.h"
#include "base/text/near_name.h"
#include "redis/url/url_parts.h"

namespace sluice::usage {
namespace {

using redis::percent_decoded;
using redis::Problem;
using redis::split;

constexpr std::array<std::string_view, 9> kSchemes = {"kafka",         "kafkas",         "redis",
                                                      "rediss",        "redis+sentinel", "rediss+sentinel",
                                                      "redis+cluster", "rediss+cluster", "unix"};
constexpr std::uint16_t kKafkaPort = 9092;
constexpr std::string_view kForms =
    "write kafka://HOST:PORT/TOPIC (kafkas for TLS) or redis://HOST:PORT?stream=NAME (rediss for TLS)";

// The option that a mistyped name was meant to be, as the end of a sentence.
std::string hint(std::string_view name, std::span<const std::string_view> known) {
  const std::string_view near = near_name(name, known);
  return near.empty() ? "" : "; did you mean " + std::string(near) + "?";
}

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + std::string(names[i]);
  return text;
}

// An option of the URL: name and value, decoded.
struct Option {
  std::string_view name;
  std::string value;
};

Problem read_option(std::string_view text, Option& option) {
  const std::size_t equals = text.find('=');
  option.name = text.substr(0, equals);
  const auto value = percent_decoded(equals == text.npos ? "" : text.substr(equals + 1));
  if (!value) return "an option has a % that is not followed by two hex digits; write % itself as %25";
  if (value->empty())
    return "the option " + std::string(option.name) + " has no value; give it one or leave it out";
  option.value = *value;
  return std::nullopt;
}

bool is_topic(std::string_view name) {
  const auto good = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("._-").contains(static_cast<char>(c));
  };
  return !name.empty() && name.size() <= kUsageTopicBytesMax && std::ranges::all_of(name, good) &&
         name != "." && name != "..";
}

// What follows the ? of a URL for Kafka.
Problem read_kafka_options(std::string_view text, KafkaTarget& target) {
  constexpr std::array<std::string_view, 5> kNames = {"sasl", "compression", "ca", "cert", "key"};
  constexpr std::array<std::string_view, 3> kMechanisms = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"};
  constexpr std::array<std::string_view, 5> kCompressions = {"none", "gzip", "snappy", "lz4", "zstd"};
  // Such an @ usually ends a password with a ? in it, and the text is no option.
  if (text.contains('@')) return "write ? in a password as %3F, and @ after the ? as %40";
  std::vector<std::string_view> seen;
  for (const std::string_view each : split(text, '&')) {
    Option option;
    if (auto problem = read_option(each, option)) return problem;
    if (std::ranges::find(kNames, option.name) == kNames.end())
      return "unknown option of kafka: the options are " + listed(kNames) + hint(option.name, kNames);
    if (std::ranges::find(seen, option.name) != seen.end())
      return "the option " + std::string(option.name) + " is given twice";
    seen.push_back(option.name);
    if (option.name == "sasl") {
      if (std::ranges::find(kMechanisms, option.value) == kMechanisms.end())
        return "sasl must be " + listed(kMechanisms) + ", one of them" + hint(option.value, kMechanisms);
      target.mechanism = option.value;
    } else if (option.name == "compression") {
      if (std::ranges::find(kCompressions, option.value) == kCompressions.end())
        return "compression must be one of " + listed(kCompressions) + hint(option.value, kCompressions);
      target.compression = option.value;
    } else {
      if (!target.tls) return "ca, cert and key need TLS; write kafkas for kafka";
      (option.name == "ca"     ? target.ca_file
       : option.name == "cert" ? target.certificate_file
                               : target.key_file) = option.value;
    }
  }
  if (target.certificate_file.empty() != target.key_file.empty())
    return "cert and key must be given together; if one file holds both, name it for both";
  return std::nullopt;
}

Problem read_login(std::string_view text, KafkaTarget& target) {
  redis::Address login;
  if (auto problem = redis::read_credentials(text, login)) return problem;
  if (login.user.empty() || login.password.empty()) return "a login at Kafka needs both user and password";
  target.user = login.user;
  target.password = login.password;
  if (target.mechanism.empty()) target.mechanism = "PLAIN";
  return std::nullopt;
}

Problem read_brokers(std::string_view list, KafkaTarget& target) {
  const std::vector<std::string_view> texts = split(list, ',');
  if (texts.size() > kRedisHostsMax)
    return "the URL names too many brokers; a few are enough, the others are found";
  for (const std::string_view text : texts) {
    redis::Address address{.port = kKafkaPort};
    if (auto problem = redis::read_host_and_port(text, address)) return problem;
    target.brokers += (target.brokers.empty() ? "" : ",") + address.place();
  }
  return std::nullopt;
}

Problem read_kafka(std::string_view rest, KafkaTarget& target) {
  const std::size_t question = rest.find('?');
  if (question != rest.npos)
    if (auto problem = read_kafka_options(rest.substr(question + 1), target)) return problem;
  rest = rest.substr(0, question);
  if (const std::size_t at = rest.rfind('@'); at != rest.npos) {
    if (auto problem = read_login(rest.substr(0, at), target)) return problem;
    rest.remove_prefix(at + 1);
  } else if (!target.mechanism.empty()) {
    return "sasl needs a login; write user:password@ before the host";
  }
  const std::size_t slash = rest.find('/');
  const std::string_view topic = slash == rest.npos ? "" : rest.substr(slash + 1);
  target.topic = topic.empty() ? kDefaultName : topic;
  if (!is_topic(target.topic))
    return "a topic's name has 1 to " + std::to_string(kUsageTopicBytesMax) +
           " letters, digits, dots, hyphens and underscores";
  return read_brokers(rest.substr(0, slash), target);
}

Problem take_stream_option(const Option& option, StreamTarget& target) {
  if (option.name == "stream") {
    if (!target.stream.empty()) return "the option stream is given twice";
    if (option.value.size() > kUsageStreamBytesMax)
      return "a stream's name has at most " + std::to_string(kUsageStreamBytesMax) + " bytes";
    target.stream = option.value;
    return std::nullopt;
  }
  if (target.length >= 0) return "the option maxlen is given twice";
  const auto length = redis::number_up_to(option.value, static_cast<int>(kUsageStreamLengthMax));
  if (!length)
    return "maxlen must be a number from 0 to " + std::to_string(kUsageStreamLengthMax) +
           ": about how many events the stream keeps, 0 for all";
  target.length = *length;
  return std::nullopt;
}

// Takes our own options out, and leaves the rest to the reader of store URLs.
Problem read_stream(std::string_view url, StreamTarget& target) {
  constexpr std::array<std::string_view, 2> kNames = {"stream", "maxlen"};
  constexpr std::array<std::string_view, 8> kOthers = {
      "ca", "cert", "key", "server_name", "sentinel_user", "sentinel_password", "db", "read_from"};
  target.length = -1;
  const std::size_t question = url.find('?');
  std::string rest(url.substr(0, question));
  char before = '?';
  if (question != url.npos)
    for (const std::string_view text : split(url.substr(question + 1), '&')) {
      const std::string_view name = text.substr(0, text.find('='));
      if (std::ranges::find(kNames, name) != kNames.end()) {
        Option option;
        if (auto problem = read_option(text, option)) return problem;
        if (auto problem = take_stream_option(option, target)) return problem;
        continue;
      }
      if (const std::string_view near = near_name(name, kNames);
          !near.empty() && std::ranges::find(kOthers, name) == kOthers.end())
        return "unknown option; did you mean " + std::string(near) + "?";
      rest += std::exchange(before, '&');
      rest += text;
    }
  if (target.stream.empty()) target.stream = kDefaultName;
  if (target.length < 0) target.length = kUsageStreamLength;
  auto server = redis::parse_store_url(rest);
  if (!server) return server.error().message;
  if (server->looks_at_replicas) return "read_from is not for usage events: they are written";
  target.server = std::move(*server);
  return std::nullopt;
}

Problem read(std::string_view url, UsageTarget& target) {
  if (url.size() > kUsageUrlBytesMax)
    return "the URL has more than " + std::to_string(kUsageUrlBytesMax) + " bytes";
  const std::size_t end = url.find("://");
  if (end == url.npos) return "the URL has no scheme; " + std::string(kForms);
  const std::string_view scheme = url.substr(0, end);
  if (std::ranges::find(kSchemes, scheme) == kSchemes.end()) {
    const std::string_view near = near_name(scheme, kSchemes);
    return near.empty() ? "unknown scheme; " + std::string(kForms)
                        : "unknown scheme; did you mean " + std::string(near) + "://?";
  }
  if (!scheme.starts_with("kafka")) return read_stream(url, target.server.emplace<StreamTarget>());
  KafkaTarget& kafka = target.server.emplace<KafkaTarget>();
  kafka.tls = scheme == "kafkas";
  return read_kafka(url.substr(end + 3), kafka);
}

}  // namespace

std::string UsageTarget::to_string() const {
  if (const auto* const kafka = std::get_if<KafkaTarget>(&server)) {
    const std::string who = kafka->user.empty() ? "" : kafka->user + "@";
    return (kafka->tls ? "kafkas://" : "kafka://") + who + kafka->brokers + "/" + kafka->topic;
  }
  const auto& stream = std::get<StreamTarget>(server);
  const std::string at = stream.server.to_string();
  return at + (at.contains('?') ? "&" : "?") + "stream=" + stream.stream;
}

Result<UsageTarget> parse_usage_target(std::string_view url) {
  UsageTarget target;
  if (auto problem = read(url, target)) return invalid("usage-events", std::move(*problem));
  return target;
}

}  // namespace sluice::usage

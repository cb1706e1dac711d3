#include "server/nodes/node_words.h"

#include <utility>

#include "base/limits/node_limits.h"
#include "base/secret/sealed_file.h"

namespace sluice::server {
namespace {

constexpr std::string_view kPurpose = "sluice: messages between nodes";
constexpr std::size_t kRoom = 512;  // for names and lengths beside the text of a message

std::string context_of(std::string_view kind, std::string_view first, std::string_view second = "") {
  std::string context;
  for (const std::string_view part : {kind, first, second}) append_field(context, part);
  return context;
}

std::optional<std::string> open(const NodeKeys& keys, std::string_view context, std::string_view sealed) {
  for (const MessageKey& key : keys.all())
    if (auto opened = open_message(key, context, sealed)) return opened;
  return std::nullopt;
}

}  // namespace

std::string place_key(std::string_view prefix, std::size_t place) {
  return std::string(prefix) + "{nodes}:" + std::to_string(place);
}
std::string question_key(std::string_view prefix, std::size_t number) {
  return std::string(prefix) + "{nodes}:ask:" + std::to_string(number);
}
std::string answer_key(std::string_view prefix, std::size_t number, std::size_t place) {
  return std::string(prefix) + "{nodes}:say:" + std::to_string(number) + ':' + std::to_string(place);
}

NodeKeys::NodeKeys(std::string_view secret, const SecretRing* secrets)
    : fixed_(HmacKey(secret.empty() ? "sluice" : secret)(kPurpose)), secrets_(secrets) {}

MessageKey NodeKeys::newest() const { return secrets_ ? secrets_->key()(kPurpose) : fixed_; }

std::vector<MessageKey> NodeKeys::all() const {
  if (!secrets_) return {fixed_};
  std::vector<MessageKey> all;
  for (const HmacKey* key : secrets_->every_key()) all.push_back((*key)(kPurpose));
  return all;
}

std::string write_report(const NodeKeys& keys, const PlacedReport& placed) {
  std::string text;
  append_field(text, std::to_string(placed.at_ms));
  append_field(text, to_text(placed.report));
  return placed.report.id + seal_message(keys.newest(), context_of("report", placed.report.id), text);
}

std::string_view writer_of(std::string_view value) {
  return value.size() < kNodeIdBytes + kSealBytes ? "" : value.substr(0, kNodeIdBytes);
}

std::optional<PlacedReport> read_report(const NodeKeys& keys, std::string_view value) {
  const std::string_view writer = writer_of(value);
  if (writer.empty() || value.size() > kNodeReportBytesMax + kRoom) return std::nullopt;
  const auto text = open(keys, context_of("report", writer), value.substr(kNodeIdBytes));
  if (!text) return std::nullopt;
  StrictFieldReader fields(*text);
  PlacedReport placed{.report = {}, .at_ms = fields.number()};
  auto report = node_report_from(fields.text());
  if (!fields.ok() || !report || report->id != writer) return std::nullopt;
  placed.report = *std::move(report);
  return placed;
}

std::string write_question(const NodeKeys& keys, const NodeQuestion& question) {
  std::string text;
  append_field(text, std::to_string(question.until_ms));
  append_field(text, question.topic);
  append_field(text, question.body);
  return question.asker + question.id +
         seal_message(keys.newest(), context_of("question", question.asker, question.id), text);
}

std::optional<NodeQuestion> read_question(const NodeKeys& keys, std::string_view value) {
  if (value.size() < 2 * kNodeIdBytes + kSealBytes || value.size() > kNodeQuestionBytesMax + kRoom)
    return std::nullopt;
  NodeQuestion question{.id = std::string(value.substr(kNodeIdBytes, kNodeIdBytes)),
                        .asker = std::string(value.substr(0, kNodeIdBytes)),
                        .topic = {},
                        .body = {}};
  const auto text =
      open(keys, context_of("question", question.asker, question.id), value.substr(2 * kNodeIdBytes));
  if (!text) return std::nullopt;
  StrictFieldReader fields(*text);
  question.until_ms = fields.number();
  question.topic = fields.text();
  question.body = fields.text();
  return fields.ok() ? std::optional(std::move(question)) : std::nullopt;
}

std::string write_reply(const NodeKeys& keys, std::string_view question, const NodeReply& reply) {
  std::string text;
  append_field(text, reply.name);
  append_field(text, reply.body);
  return reply.node + seal_message(keys.newest(), context_of("answer", question, reply.node), text);
}

std::optional<NodeReply> read_reply(const NodeKeys& keys, std::string_view question, std::string_view value) {
  const std::string_view writer = writer_of(value);
  if (writer.empty() || value.size() > kNodeAnswerBytesMax + kRoom) return std::nullopt;
  const auto text = open(keys, context_of("answer", question, writer), value.substr(kNodeIdBytes));
  if (!text) return std::nullopt;
  StrictFieldReader fields(*text);
  NodeReply reply{.node = std::string(writer), .name = fields.text(), .body = fields.text()};
  return fields.ok() ? std::optional(std::move(reply)) : std::nullopt;
}

}  // namespace sluice::server

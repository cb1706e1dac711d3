#include "ledger/postgres/postgres_connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/try.h"

namespace sluice::ledger {
namespace {

// A server that neither reads nor writes for this long counts as lost. Its own statement timeout is shorter,
// so that a slow statement ends with an answer.
constexpr int kSilenceMs = 4000;
constexpr const char* kConnectTimeoutS = "3";

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using OptionsPtr = std::unique_ptr<PQconninfoOption, FreeOptions>;

// Parses a URL. libpq's error message is not shown: it quotes the URL, including the password.
OptionsPtr parse(const std::string& url) {
  char* why = nullptr;
  OptionsPtr options(PQconninfoParse(url.c_str(), &why));
  PQfreemem(why);
  return options;
}

std::string option(const OptionsPtr& options, std::string_view keyword) {
  for (const PQconninfoOption* at = options.get(); at->keyword != nullptr; ++at)
    if (keyword == at->keyword) return at->val == nullptr ? "" : at->val;
  return "";
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& byte : text)
    if (byte == '\n' || byte == '\t') byte = ' ';
  return text;
}

}  // namespace

PostgresQuery& PostgresQuery::number(std::int64_t value) {
  values_.push_back({std::to_string(value), {}});
  return *this;
}

PostgresQuery& PostgresQuery::bytes(std::string_view value) {
  values_.push_back({"", value});
  return *this;
}

void PostgresRows::Clear::operator()(pg_result* result) const { PQclear(result); }

int PostgresRows::size() const { return PQntuples(result_.get()); }

std::int64_t PostgresRow::get_number(int column) const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(PQgetvalue(result_, row_, column));
  std::uint64_t value = 0;
  for (int i = 0, size = PQgetlength(result_, row_, column); i < size; ++i) value = value << 8 | bytes[i];
  return static_cast<std::int64_t>(value);
}

std::string PostgresRow::get_text(int column) const {
  return {PQgetvalue(result_, row_, column), static_cast<std::size_t>(PQgetlength(result_, row_, column))};
}

Result<std::string> PostgresConnection::name_of(const std::string& url) {
  const OptionsPtr options = parse(url);
  if (options == nullptr)
    return invalid("", "cannot parse the PostgreSQL URL; write postgres://USER:PASSWORD@HOST:PORT/DATABASE");
  std::string host = option(options, "host"), port = option(options, "port");
  if (host.empty()) host = option(options, "hostaddr");
  return "postgres://" + (host.empty() ? "localhost" : host) + (port.empty() ? "" : ":" + port) + "/" +
         option(options, "dbname");
}

PostgresConnection::PostgresConnection(pg_conn* handle, const std::string& url)
    : handle_(handle), name_(name_of(url).value_or("postgres://")) {
  const OptionsPtr options = parse(url);
  for (const char* keyword : {"password", "sslpassword"})
    if (std::string secret = options == nullptr ? "" : option(options, keyword); !secret.empty())
      secrets_.push_back(std::move(secret));
}

PostgresConnection::~PostgresConnection() { PQfinish(handle_); }

PostgresResult<std::unique_ptr<PostgresConnection>> PostgresConnection::open(const std::string& url) {
  // The URL can override keywords before dbname, but not those after it.
  const char* keywords[] = {"connect_timeout", "fallback_application_name", "dbname", "client_encoding",
                            nullptr};
  const char* values[] = {kConnectTimeoutS, "sluice", url.c_str(), "UTF8", nullptr};
  pg_conn* handle = PQconnectdbParams(keywords, values, 1);
  std::unique_ptr<PostgresConnection> connection(new PostgresConnection(handle, url));
  if (PQstatus(handle) != CONNECTION_OK) return std::unexpected(connection->lost("cannot be reached"));
  PQsetNoticeProcessor(handle, [](void*, const char*) {}, nullptr);
  PQsetnonblocking(handle, 1);
  PQenterPipelineMode(handle);
  // A client that is cut off in the middle of a change must not block other writers.
  const PostgresQuery settings[] = {PostgresQuery("SET statement_timeout = '3s'"),
                                    PostgresQuery("SET idle_in_transaction_session_timeout = '5s'")};
  SLUICE_TRY(connection->run(settings));
  return connection;
}

PostgresResult<PostgresRows> PostgresConnection::run(const PostgresQuery& query) {
  auto answers = SLUICE_TRY(run({&query, 1}));
  return std::move(answers.front());
}

PostgresResult<std::vector<PostgresRows>> PostgresConnection::run(std::span<const PostgresQuery> queries) {
  std::vector<Due> due;
  for (const PostgresQuery& query : queries)
    if (!send(query, due)) return std::unexpected(lost("is disconnected"));
  if (PQpipelineSync(handle_) != 1) return std::unexpected(lost("is disconnected"));
  return receive(due);
}

bool PostgresConnection::send(const PostgresQuery& query, std::vector<Due>& due) {
  const auto [found, is_new] = statements_.try_emplace(query.sql_);
  Statement& statement = found->second;
  if (is_new) statement.name = "s" + std::to_string(statements_.size());
  if (statement.state == Statement::State::kUnknown) {
    statement.state = Statement::State::kSent;
    if (PQsendPrepare(handle_, statement.name.c_str(), query.sql_, 0, nullptr) != 1) return false;
    due.push_back({&statement});
  }
  std::vector<const char*> values;
  std::vector<int> lengths, formats;
  for (const auto& [number, bytes] : query.values_) {
    const bool is_binary = number.empty();
    values.push_back(!is_binary ? number.c_str() : bytes.empty() ? "" : bytes.data());
    lengths.push_back(static_cast<int>(bytes.size()));
    formats.push_back(is_binary ? 1 : 0);
  }
  due.push_back({});
  return PQsendQueryPrepared(handle_, statement.name.c_str(), static_cast<int>(values.size()), values.data(),
                             lengths.data(), formats.data(), 1) == 1;
}

PostgresResult<std::vector<PostgresRows>> PostgresConnection::receive(std::span<const Due> due) {
  std::vector<PostgresRows> answers;
  PostgresError first;
  bool failed = false;
  for (std::size_t at = 0;;) {
    // There may be more to send than the server accepts before its answers are read.
    if (PQflush(handle_) < 0) return std::unexpected(lost("is disconnected"));
    while (PQisBusy(handle_) != 0)
      if (!exchange()) return std::unexpected(lost("does not answer"));
    pg_result* result = PQgetResult(handle_);
    if (result == nullptr) {
      ++at;  // one answer is complete
      if (at > due.size()) return std::unexpected(lost("is disconnected"));
      continue;
    }
    PostgresRows rows(result);
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_PIPELINE_SYNC) break;
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      assert(at < due.size());
      if (due[at].prepared != nullptr)
        due[at].prepared->state = Statement::State::kPrepared;
      else
        answers.push_back(std::move(rows));
    } else if (PQstatus(handle_) != CONNECTION_OK) {
      return std::unexpected(lost("is disconnected"));
    } else if (!failed) {
      first = refused(result);
      failed = true;
    }
  }
  for (const Due& one : due)
    if (one.prepared != nullptr && one.prepared->state == Statement::State::kSent)
      one.prepared->state = Statement::State::kUnknown;
  note_notifications();
  if (failed) return std::unexpected(std::move(first));
  return answers;
}

bool PostgresConnection::exchange() {
  const int unsent = PQflush(handle_);
  if (unsent < 0) return false;
  pollfd watched{PQsocket(handle_), static_cast<short>(unsent == 1 ? POLLIN | POLLOUT : POLLIN), 0};
  const int ready = poll(&watched, 1, kSilenceMs);
  if (ready < 0) return errno == EINTR;
  if (ready == 0) return false;
  return (watched.revents & ~POLLOUT) == 0 || PQconsumeInput(handle_) == 1;
}

bool PostgresConnection::is_alive() {
  if (lost_ || PQconsumeInput(handle_) != 1) return false;
  note_notifications();
  return PQstatus(handle_) == CONNECTION_OK;
}

bool PostgresConnection::is_in_transaction() const {
  const PGTransactionStatusType status = PQtransactionStatus(handle_);
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

int PostgresConnection::socket() const { return PQsocket(handle_); }

void PostgresConnection::note_notifications() {
  while (PGnotify* notification = PQnotifies(handle_)) {
    notified_ |= notification->be_pid != PQbackendPID(handle_);
    PQfreemem(notification);
  }
}

bool PostgresConnection::take_notified() { return std::exchange(notified_, false); }

PostgresError PostgresConnection::lost(const char* what) {
  lost_ = true;
  const std::string why = without_secrets(one_line(PQerrorMessage(handle_)));
  return {
      {ErrorCode::kUnavailable,
       name_ + " " + what + (why.empty() ? "" : " (" + why + ")") + "; check the server and the network", ""},
      ""};
}

PostgresError PostgresConnection::refused(const pg_result* result) const {
  const auto field = [&](int code) {
    const char* text = PQresultErrorField(result, code);
    return std::string(text == nullptr ? "" : text);
  };
  const std::string why = without_secrets(one_line(field(PG_DIAG_MESSAGE_PRIMARY)));
  const std::string state = field(PG_DIAG_SQLSTATE);
  return {{ErrorCode::kUnavailable, name_ + " reports an error: " + why + "; check the server", ""},
          state.empty() ? "XX000" : state};
}

std::string PostgresConnection::without_secrets(std::string text) const {
  for (const std::string& secret : secrets_)
    for (std::size_t at = text.find(secret); at != text.npos; at = text.find(secret, at + 3))
      text.replace(at, secret.size(), "***");
  return text;
}

}  // namespace sluice::ledger

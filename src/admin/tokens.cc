#include "admin/routes.h"

#include <algorithm>
#include <array>
#include <map>

#include "admin/body_reader.h"
#include "admin/once.h"
#include "base/try.h"
#include "control/access/token.h"
#include "document/document_builder.h"
#include "document/literals.h"

namespace sluice::admin {
namespace {

using control::Token;
using ledger::Kind;
using ledger::Record;

DocumentNode token_view(const Token& token) {
  DocumentNode view = map_node();
  put(view, "name", text_node(token.name));
  DocumentNode roles = list_node();
  for (const control::Role role : token.roles) roles.items.push_back(text_node(to_string(role)));
  put(view, "roles", std::move(roles));
  put(view, "tenants", token.tenants.empty() ? text_list(std::array{"*"}) : text_list(token.tenants));
  put(view, "expires_at", token.expires_us == 0 ? null_node() : text_node(instant_text(token.expires_us)));
  return view;
}

Result<std::map<std::string, Token>> stored_tokens(AdminContext& context) {
  std::map<std::string, Token> tokens;
  auto read = context.follower.ledger().for_each_document([&](Record&& record) {
    if (record.kind != Kind::kToken || record.is_withdrawn()) return;
    if (auto token = control::parse_token(record.body, record.name)) tokens[record.name] = *std::move(token);
  });
  // A missing record of another document must not prevent the revocation of a token.
  if (!read && read.error().code != ErrorCode::kFailedPrecondition) return std::unexpected(read.error());
  return tokens;
}

// Whether a caller that revokes their own token leaves another that can create tokens, now and later. A
// caller authenticated in another way can come back; and if there is no token at all, servers create a
// bootstrap token.
Result<void> leaves_a_way_in(AdminContext& context, const AdminCall& call, const std::string& name) {
  auto tokens = SLUICE_TRY(stored_tokens(context));
  const auto own = tokens.find(name);
  if (own == tokens.end() || own->second.principal().name != call.principal.name) return {};
  tokens.erase(own);
  const auto stays_a_way_in = [](const auto& entry) {
    return entry.second.expires_us == 0 && entry.second.principal().can_administer();
  };
  if (tokens.empty() || std::ranges::any_of(tokens, stays_a_way_in)) return {};
  return std::unexpected(
      Error{ErrorCode::kConflict,
            "\"" + name +
                "\" is the last token that can create tokens, so it cannot be deleted; first create "
                "another one with the role admin and no expiry, then delete this one with that",
            ""});
}

}  // namespace

Result<AdminAnswer> create_token(AdminContext& context, const AdminCall& call) {
  constexpr std::array<std::string_view, 4> kNames = {"name", "roles", "tenants", "expires_at"};
  const BodyReader body(call, kNames);
  Token token;
  token.name = body.fields().text("name", parse_name).value_or("");
  body.fields().missing("name");
  control::read_token_rights(body.fields(), body.place(), token);
  if (auto wrong = body.error()) return std::unexpected(*wrong);
  if (token.expires_us != 0 && token.expires_us <= context.clock.now_us())
    return invalid("expires_at", "is in the past");
  // A repeated answer would need the token itself, which is not stored.
  if (!call.idempotency_key.empty())
    return invalid(
        "idempotency-key",
        "a token is shown only once; create another one, and delete the one that you did not receive");
  const std::string secret = control::make_token(control::token_entropy());
  token.hash = control::hash_token(secret);
  const auto written = context.write(call, {{.kind = Kind::kToken,
                                             .name = token.name,
                                             .action = "create",
                                             .body = write_token(token),
                                             .expected_version = 0}});
  if (!written && written.error().code == ErrorCode::kStale)
    return std::unexpected(Error{ErrorCode::kConflict,
                                 "the token \"" + token.name + "\" already exists; choose another name",
                                 "name"});
  if (!written) return std::unexpected(written.error());
  AdminAnswer answer;
  answer.status = 201;
  answer.version = written->front().version;
  answer.body = token_view(token);
  put(answer.body, "token", text_node(secret));
  return answer;
}

Result<AdminAnswer> list_tokens(AdminContext& context, const AdminCall&) {
  const auto tokens = SLUICE_TRY(stored_tokens(context));
  DocumentNode list = list_node();
  for (const auto& [name, token] : tokens) list.items.push_back(token_view(token));
  AdminAnswer answer;
  answer.body = map_node();
  put(answer.body, "tokens", std::move(list));
  put(answer.body, "next", null_node());
  return answer;
}

Result<AdminAnswer> delete_token(AdminContext& context, const AdminCall& call) {
  const std::string& name = call.path[2];
  return once(context, call, {Kind::kToken, name}, no_content_if_withdrawn, [&]() -> Result<AdminAnswer> {
    const auto newest = SLUICE_TRY(context.follower.ledger().history(Kind::kToken, name, INT64_MAX, 1));
    if (newest.empty() || newest.front().is_withdrawn())
      return std::unexpected(Error{ErrorCode::kNotFound, "there is no token \"" + name + '"', ""});
    SLUICE_TRY(context.write(call,
                             {{.kind = Kind::kToken,
                               .name = name,
                               .action = "delete",
                               .body = "",
                               .expected_version = newest.front().version}},
                             [&] { return leaves_a_way_in(context, call, name); }));
    return no_content();
  });
}

}  // namespace sluice::admin

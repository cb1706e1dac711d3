#include "doors/resp/redis_reply.h"

namespace sluice::doors::redis_reply {

void error(std::string& out, std::string_view kind, std::string_view sentence) {
  out.append("-").append(kind).append(" ");
  for (const char c : sentence) out += c == '\r' || c == '\n' ? ' ' : c;
  out.append("\r\n");
}

void refuse(std::string& out, const Error& why) {
  switch (why.code) {
    case ErrorCode::kUnauthenticated:
      return error(out, "NOAUTH", kSendAuth);
    case ErrorCode::kPermissionDenied:
      return error(out, "NOPERM", why.message);
    case ErrorCode::kUnavailable:
    case ErrorCode::kOverloaded:
      return error(out, "TRYAGAIN", why.message);
    default:
      return error(out, "ERR", why.message);
  }
}

}  // namespace sluice::doors::redis_reply

#include "doors/redis_reply.h"

namespace sluice::doors::redis_reply {

void error(std::string& out, std::string_view kind, std::string_view sentence) {
  out.append("-").append(kind).append(" ");
  for (const char c : sentence) out += c == '\r' || c == '\n' ? ' ' : c;
  out.append("\r\n");
}

}  // namespace sluice::doors::redis_reply

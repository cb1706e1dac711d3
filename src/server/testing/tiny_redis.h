#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/planner/slot_tag.h"
#include "redis/protocol/resp.h"
#include "redis/testing/fake_transport.h"
#include "server/cells/cell_mover.h"
#include "server/testing/cells_fixture.h"
#include "store/redis/script/wire.h"

namespace sluice::server::testing {

// A server with the few commands that a move needs.
class TinyRedis {
 public:
  std::unique_ptr<redis::Channel> connect(const redis::Address& address, redis::ChannelEvents& events,
                                          std::string& why) {
    lines_.push_back(std::make_unique<Line>());
    lines_.back()->wire.unreachable = wire.unreachable;
    return lines_.back()->wire.connect(address, events, why);
  }
  // Answers the pending requests.
  void serve() {
    for (std::size_t i = 0; i < lines_.size(); ++i) serve(*lines_[i]);
    std::erase_if(lines_, [](const auto& line) { return !line->wire.open(); });
  }

  struct {
    bool unreachable = false;  // all connections are cut
  } wire;
  std::map<std::string, std::string> keys;
  struct Record {
    std::string state = "-";
    std::string other;
    unsigned number = 1;  // of the move
    bool is_forgotten = false;
    friend bool operator==(const Record&, const Record&) = default;
  };
  std::map<std::string, Record> records;  // of tenants that move
  bool refuses = false;                   // to change them
  std::string cut_after;                  // cuts its connections once, after this step
  std::string goes_back_after;            // restores `dump` once, after this step
  std::map<std::string, Record> dump;

 private:
  struct Line {
    redis::FakeTransport wire;
    redis::RespParser parser;
    bool is_new = true;
  };

  void serve(Line& line) {
    if (!line.wire.open()) return;
    if (wire.unreachable) return line.wire.cut("Connection reset by peer");
    if (std::exchange(line.is_new, false)) line.wire.accept();
    for (std::string asked = line.wire.take_sent(); !asked.empty(); asked = line.wire.take_sent()) {
      line.parser.feed(asked);
      std::string answers;
      while (line.parser.next() == redis::RespParser::Status::kReply)
        answer(line.parser.reply().subspan(1), answers);
      if (wire.unreachable) return line.wire.cut("Connection reset by peer");
      line.wire.say(answers);
      if (!line.wire.open()) return;
    }
  }

  void answer(std::span<const redis::RespValue> words, std::string& out) {
    const std::string command(words[0].bytes);
    const std::string key(words.size() > 1 ? words[1].bytes : "");
    if (command == "SCAN") {
      std::string_view start = words[3].bytes;  // the prefix of the pattern, before its *
      start.remove_suffix(1);
      std::vector<std::string> found;
      for (const auto& [name, value] : keys)
        if (name.starts_with(start)) found.push_back(name);
      out += "*2\r\n$1\r\n0\r\n";
      redis::append_array(out, found.size());
      for (const std::string& name : found) redis::append_bulk(out, name);
    } else if (command == "GET") {
      redis::append_bulk(out, keys.at(key));
    } else if (command == "PTTL") {
      out += ":60000\r\n";
    } else if (command == "EVALSHA" && refuses) {
      out += "-NOPERM this user has no permissions\r\n";
    } else if (command == "EVALSHA") {
      append_step(words.subspan(5), out);
    } else if (command == "SSCAN") {
      out += "*2\r\n$1\r\n0\r\n*0\r\n";
    } else if (command == "HGET") {
      std::string version;
      for (const auto& [who, record] : records) version += text_of(record);
      redis::append_bulk(out, version);
    } else if (command == "HVALS") {
      redis::append_array(out, records.size());
      for (const auto& [who, record] : records) redis::append_bulk(out, text_of(record));
    } else if (command == "SCRIPT") {
      out += "$4\r\n5ba1\r\n";
    } else {
      out += "+OK\r\n";
    }
  }

  static std::string id_of(unsigned number) {
    const std::string digits = std::to_string(number);
    return std::string(9 - digits.size(), '0') + digits + "0000000";
  }
  static std::string text_of(const Record& record) {
    return record.state + id_of(record.number) + std::string(30, '0') + record.other;
  }

  void append_step(std::span<const redis::RespValue> words, std::string& out) {
    const std::string operation(words[0].bytes), who(words[1].bytes);
    const std::string word = step(words);
    const Record record = records.contains(who) ? records[who] : Record{.other = "", .number = 0};
    redis::append_command(out, {word, id_of(record.number), record.other,
                                record.is_forgotten ? "forgotten-------" : "0", record.state});
    if (operation == cut_after) {
      cut_after.clear();
      wire.unreachable = true;
    }
    if (operation == goes_back_after) {
      goes_back_after.clear();
      records = dump;
    }
  }

  // What tenant_move.lua does, as far as a single mover can see. Returns its status word.
  std::string step(std::span<const redis::RespValue> words) {
    const std::string operation(words[0].bytes), who(words[1].bytes), other(words[5].bytes);
    const auto number = static_cast<unsigned>(std::stoul(std::string(words[2].bytes.substr(0, 9))));
    const Record before = records.contains(who) ? records[who] : Record{.other = "", .number = 0};
    const std::string& state = before.state;
    const unsigned next = std::max(number, before.number + 1);
    const bool is_source = state == "c" || state == "f", is_mine = before.number == number;
    const auto become = [&](const std::string& fresh, unsigned of_move, bool is_forgotten = false) {
      records[who] = {fresh, other, of_move, is_forgotten};
      return fresh;
    };
    if (operation == "claim") {
      const auto cell_of = [](std::string_view text) { return text.substr(0, text.find('\n')); };
      const bool is_same_way = cell_of(before.other) == cell_of(other);
      if (state == "x" || state == "a" || (state == "f" && !is_same_way)) return state;
      return is_source && is_same_way ? become(state, before.number) : become("c", next);
    }
    if (operation == "reclaim")
      return state == "x" && is_mine && !before.is_forgotten ? become("f", next) : "lost";
    if (operation == "raise") return is_source ? become(state, next) : "lost";
    if (operation == "renew") return is_source ? state : "lost";
    if (operation == "freeze") return is_source ? become("f", before.number) : "lost";
    if (operation == "close") return is_source && is_mine ? become("x", before.number) : "lost";
    if (operation == "release") return is_source ? become("o", before.number) : "lost";
    if (operation == "leave") {
      if (before.number > number && number > 0) return "lost";
      return become("x", number > 0 ? number : next, true);
    }
    if (operation == "remove") {
      if (state != "x" || !is_mine) return "lost";
      for (const redis::RespValue& name : words.subspan(6)) keys.erase(std::string(name.bytes));
      return state;
    }
    if (operation == "arrive") {
      if (is_mine && !is_source) return state;
      return before.number >= number ? "later" : become("a", number);
    }
    if (operation == "write") {
      if (state != "a") return "lost";
      for (std::size_t i = 6; i < words.size(); i += 3)
        keys[std::string(words[i].bytes)] = words[i + 1].bytes;
      return state;
    }
    if (operation == "open") return state == "a" ? become("o", number) : "lost";
    if (operation == "settle") return become("o", next);
    return state;  // look
  }

  std::vector<std::unique_ptr<Line>> lines_;
};

// A CellMover with such servers, one per host.
class MoverAmongServers : protected redis::Transport {
 public:
  std::string key_of(std::string_view tenant, std::uint64_t number = 1,
                     std::string_view prefix = "rl:") const {
    std::string name;
    append_key(name, prefix, slot_tag_of_tenant(tenant, hasher), {0, number});
    return name;
  }
  std::string who(std::string_view tenant) const { return owner_letters(slot_tag_of_tenant(tenant, hasher)); }
  CellMover::Parts parts(CellRegistry& registry, CellMemory memory = {}) {
    return {registry,
            hasher,
            clock,
            *this,
            [](std::uint64_t) { return 0; },
            [this](LogEvent event, std::string_view sentence) {
              (is_problem(event) ? problems : said).emplace_back(sentence);
            },
            std::move(memory)};
  }
  static std::string cell_of(const CellRegistry& registry, std::string_view tenant) {
    const auto cells = registry.current();
    return cells->list()[cells->find(tenant, "")].name;
  }
  // Runs this many ticks of 10 ms each.
  void pass(CellMover& mover, int ticks) {
    for (int i = 0; i < ticks; ++i) {
      clock.advance(10'000);
      mover.tick(clock.now_us());
      for (auto& [host, server] : servers) server.serve();
    }
  }

  std::map<std::string, TinyRedis> servers;
  ManualClock clock{1'700'000'000'000'000};
  const KeyHasher hasher = KeyHasher::from_text("test");
  std::vector<std::string> said, problems;

 private:
  std::unique_ptr<redis::Channel> connect(const redis::Address& address, redis::ChannelEvents& events,
                                          std::string& why) override {
    return servers[address.host].connect(address, events, why);
  }
};

}  // namespace sluice::server::testing

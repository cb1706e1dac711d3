#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cell_mover.h"
#include "cli/cells_fixture.h"
#include "engine/slot_tag.h"
#include "redis/fake_transport.h"
#include "redis/resp.h"
#include "store/redis/wire.h"

namespace sluice::cli::testing {

// A server that knows the few commands that a move needs.
class TinyRedis {
 public:
  std::unique_ptr<redis::Channel> connect(const redis::Address& address, redis::ChannelEvents& events,
                                          std::string& why) {
    parser_ = {};
    is_new_ = true;
    return wire.connect(address, events, why);
  }
  // Answers what it was asked.
  void serve() {
    if (!wire.open()) return;
    if (std::exchange(is_new_, false)) wire.accept();
    for (std::string asked = wire.take_sent(); !asked.empty(); asked = wire.take_sent()) {
      parser_.feed(asked);
      std::string answers;
      while (parser_.next() == redis::RespParser::Status::kReply) answer(parser_.reply().subspan(1), answers);
      wire.say(answers);
    }
  }

  redis::FakeTransport wire;
  std::map<std::string, std::string> keys;
  struct Record {
    std::string state = "-";
    std::string other;
  };
  std::map<std::string, Record> records;  // of tenants that move
  bool refuses = false;                   // to change them

 private:
  void answer(std::span<const redis::RespValue> words, std::string& out) {
    const std::string command(words[0].bytes);
    const std::string key(words.size() > 1 ? words[1].bytes : "");
    if (command == "SCAN") {
      std::string_view start = words[3].bytes;  // of the pattern, before its *
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
      redis::append_command(out, {step(words.subspan(5)), detail_});
    } else if (command == "SSCAN") {
      out += "*2\r\n$1\r\n0\r\n*0\r\n";
    } else if (command == "HVALS") {
      redis::append_array(out, records.size());
      for (const auto& [who, record] : records)
        redis::append_bulk(out, record.state + std::string(46, '0') + record.other);
    } else if (command == "SCRIPT") {
      out += "$4\r\n5ba1\r\n";
    } else {
      out += "+OK\r\n";
    }
  }

  // What tenant_move.lua does, as far as one mover can tell. Returns the state.
  std::string step(std::span<const redis::RespValue> words) {
    const std::string operation(words[0].bytes), who(words[1].bytes), move(words[2].bytes);
    Record& record = records[who];
    const bool is_away = record.state == "x" || record.state == "a";
    detail_ = is_away ? record.other : move;
    if (operation == "claim" && is_away) return record.state;
    if (operation == "write")
      for (std::size_t i = 6; i < words.size(); i += 3)
        keys[std::string(words[i].bytes)] = words[i + 1].bytes;
    if (operation == "remove")
      for (const redis::RespValue& name : words.subspan(6)) keys.erase(std::string(name.bytes));
    static const std::map<std::string, std::string> kStates{
        {"claim", "c"}, {"freeze", "f"},  {"close", "x"}, {"arrive", "a"},
        {"open", "o"},  {"release", "o"}, {"settle", "o"}};
    if (const auto becomes = kStates.find(operation); becomes != kStates.end())
      record = {becomes->second, std::string(words[5].bytes)};
    const std::string state = record.state;
    if (state == "-" || (operation == "leave" && state == "o")) records.erase(who);
    return state;
  }

  redis::RespParser parser_;
  bool is_new_ = false;
  std::string detail_;
};

// A CellMover among such servers, one for each host.
class MoverAmongServers : protected redis::Transport {
 public:
  std::string key_of(std::string_view tenant, std::uint64_t number = 1,
                     std::string_view prefix = "rl:") const {
    std::string name;
    append_key(name, prefix, slot_tag_of_tenant(tenant, hasher), {0, number});
    return name;
  }
  std::string who(std::string_view tenant) const { return owner_letters(slot_tag_of_tenant(tenant, hasher)); }
  CellMover::Parts parts(CellBoard& board, CellMemory memory = {}) {
    return {board,
            hasher,
            clock,
            *this,
            [](std::uint64_t) { return 0; },
            [this](bool is_problem, const std::string& sentence) {
              (is_problem ? problems : said).push_back(sentence);
            },
            std::move(memory)};
  }
  static std::string cell_of(const CellBoard& board, std::string_view tenant) {
    const auto cells = board.current();
    return cells->list()[cells->find(tenant, "")].name;
  }
  // Lets so many ticks pass, 10 ms each.
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

}  // namespace sluice::cli::testing

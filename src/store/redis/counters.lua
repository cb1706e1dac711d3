-- Reading counters in all the ways that are not the usual one: a log, a value that is kept under other numbers, a value
-- that is no counter at all. (The usual one, a bucket or window under the same numbers, is in driver.lua.)

local LOG_MARK = 76  -- L
local MOMENT_END = 9007199254740992  -- 2^53: no counter says so much

-- Returns load(entry)   fills in what the entry's key holds: `known`, whether it is kept under numbers of the call; `warned`; and
--                         at, first, second      of a bucket or window that is kept under the entry's limit
--                         log, changed           of a log that is
--                         moving = true          of one that is kept under others; from (nil: nobody knows), how, kept: see migrate.lua
--         log_codec()   →  pack(tag, log), unpack(value): how a log is written
local function counter_reader(values, limit_at)
  local codec

  -- A log is its tag, the letter L, then time and cost of each entry. No other counter has such a length.
  local function log_codec()
    if codec then return codec end
    local HEADER_BYTES, ENTRY_BYTES = 2, 11
    local ENTRIES_AT_ONCE = 50

    local function pack_log(tag, log)
      local parts, size = {struct.pack('>BB', tag, LOG_MARK)}, #log
      for i = 1, size, 2 * ENTRIES_AT_ONCE do
        local last = math.min(i + 2 * ENTRIES_AT_ONCE - 1, size)
        parts[#parts + 1] = struct.pack('>' .. string.rep('I7I4', (last - i + 1) / 2), unpack(log, i, last))
      end
      return table.concat(parts)
    end

    -- Nothing when the bytes are not a log.
    local function unpack_log(value)
      local size = #value
      if size < HEADER_BYTES or (size - HEADER_BYTES) % ENTRY_BYTES ~= 0 or string.byte(value, 2) ~= LOG_MARK then
        return nil
      end
      local log, count = {}, 0
      for position = HEADER_BYTES + 1, size, ENTRY_BYTES do
        count = count + 2
        log[count - 1], log[count] = struct.unpack('>I7I4', value, position)
      end
      return log
    end

    codec = {pack = pack_log, unpack = unpack_log}
    return codec
  end

  -- → the limit that a value with this tag is kept under, nil if the call does not know it; and how it comes to `limit`.
  local function kept_by(tag, limit)
    local candidate = limit
    while candidate.tag ~= tag do
      if candidate.previous == 0 then return nil, 0 end
      candidate = limit_at(candidate.previous)
    end
    return candidate, candidate.former and limit.on_change or 0
  end

  -- → three numbers or a log, as migrate.lua has them. Nothing if it can't be read.
  local function unpacked(value, is_log)
    if is_log then
      local log = log_codec().unpack(value)
      return log and {log = log}
    end
    if #value ~= 12 and #value ~= 16 then return nil end
    local at, first = struct.unpack('>I7I4', value, 2)
    return {at, first, #value == 16 and struct.unpack('>I4', value, 13) or 0}
  end

  local function load(entry)
    local limit, value = entry.limit, values[entry.key]
    entry.at, entry.first, entry.second, entry.warned = 0, 0, 0, false
    if limit.is_log then entry.log, entry.changed = {}, value and value ~= '' end
    if not value or value == '' then return end
    local tag, mark = string.byte(value, 1, 2)
    local from, how = kept_by(tag % 128, limit)
    local is_log = mark == LOG_MARK
    if from then is_log = from.is_log end
    local kept = unpacked(value, is_log)
    if not kept then return end
    if not from and not is_log and kept[1] >= MOMENT_END then return end
    entry.known, entry.warned = from ~= nil, tag >= 128 and how ~= RESET
    if from ~= limit and (from or not (is_log and limit.is_log)) then
      entry.moving, entry.from, entry.how, entry.kept = true, from, how, kept
    elseif is_log then
      entry.log, entry.changed = kept.log, false
    else
      entry.at, entry.first, entry.second = kept[1], kept[2], kept[3]
    end
  end

  return load, log_codec
end

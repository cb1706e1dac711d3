-- Reads and writes counters in all cases but the usual one: a log, a value that is kept under other numbers, a value that
-- is not a counter. (The usual case, a bucket or window under the same numbers, is in decide.lua.)
--
-- counter_codec(values, limit_in) returns
--
--   load(entry)                                fills in the content of the entry's key: `known`, whether there is any;
--                                              `warned`; and
--                                                at, first, second    for a bucket or window under the entry's limit
--                                                log, changed         for a log under the entry's limit
--                                                moving, from, kept   for a counter under other numbers: see migrate.lua
--   packed(limit, at, first, second, warned)   →  the value of a bucket or window under these numbers
--   packed_log(limit, log, warned)             →  the value of a log

local function counter_codec(values, limit_in)
  local LOG_ENTRY_BYTES, LOG_ENTRIES_AT_ONCE = 11, 50

  local function packed(limit, at, first, second, warned)
    local state = struct.pack(limit.form, at, first)
    if warned then state = string.char(string.byte(state) + WARNED_BYTE) .. string.sub(state, 2) end
    if second > 0 then return limit.stamp .. state .. struct.pack('>I4', second) end
    return limit.stamp .. state
  end

  local function packed_log(limit, log, warned)
    local stamp = limit.stamp
    if warned then stamp = string.char(LOG + 1) .. string.sub(stamp, 2) end
    local parts, size = {stamp}, #log
    for i = 1, size, 2 * LOG_ENTRIES_AT_ONCE do
      local last = math.min(i + 2 * LOG_ENTRIES_AT_ONCE - 1, size)
      parts[#parts + 1] = struct.pack('>' .. string.rep('I7I4', (last - i + 1) / 2), unpack(log, i, last))
    end
    return table.concat(parts)
  end

  -- nil if the bytes are not those of a log.
  local function unpacked_log(value)
    local size = #value
    if (size - LOG_BYTES) % LOG_ENTRY_BYTES ~= 0 then return nil end
    local log, count = {}, 0
    for position = LOG_BYTES + 1, size, LOG_ENTRY_BYTES do
      count = count + 2
      log[count - 1], log[count] = struct.unpack('>I7I4', value, position)
    end
    return log
  end

  -- → three numbers or a log, as in migrate.lua, and whether it warned. nil if it cannot be read.
  local function unpacked(limit, value)
    if limit.is_log then
      local log = unpacked_log(value)
      return log and {log = log}, string.byte(value) > LOG
    end
    local plain_bytes = limit.stamp_bytes + limit.state_bytes
    if #value ~= plain_bytes and #value ~= plain_bytes + 4 then return nil end
    local at, first = struct.unpack(limit.form, value, limit.stamp_bytes + 1)
    local second = #value > plain_bytes and struct.unpack('>I4', value, plain_bytes + 1) or 0
    if at < WARNED then return {at, first, second}, false end
    local high, low = struct.unpack('>BI6', value, limit.stamp_bytes + 1)
    return {high % WARNED_BYTE * BYTE_OF_AT + low, first, second}, high >= WARNED_BYTE
  end

  local function load(entry)
    local limit, value = entry.limit, values[entry.key]
    entry.at, entry.first, entry.second, entry.warned = 0, 0, 0, false
    if limit.is_log then entry.log, entry.changed = {}, value and value ~= '' end
    if not value or value == '' then return end
    local from = limit_in(value)
    if not from then return end
    local kept, warned = unpacked(from, value)
    if not kept then return end
    entry.known, entry.warned = true, warned
    if from.stamp ~= limit.stamp then
      entry.moving, entry.from, entry.kept = true, from, kept
    elseif limit.is_log then
      entry.log, entry.changed = kept.log, false
    else
      entry.at, entry.first, entry.second = kept[1], kept[2], kept[3]
    end
  end

  return load, packed, packed_log
end

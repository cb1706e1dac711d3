-- How a sliding log is written into Redis: its tag, the letter L, then time and cost of each entry. No other counter
-- has such a length.

local function log_values()
  local MARK, HEADER_BYTES, ENTRY_BYTES = 76, 2, 11
  local ENTRIES_AT_ONCE = 50

  local function pack_log(tag, log)
    local parts, size = {struct.pack('>BB', tag, MARK)}, #log
    for i = 1, size, 2 * ENTRIES_AT_ONCE do
      local last = math.min(i + 2 * ENTRIES_AT_ONCE - 1, size)
      parts[#parts + 1] = struct.pack('>' .. string.rep('I7I4', (last - i + 1) / 2), unpack(log, i, last))
    end
    return table.concat(parts)
  end

  -- Nothing when the bytes are not a log.
  local function unpack_log(value)
    local size = #value
    if size < HEADER_BYTES or (size - HEADER_BYTES) % ENTRY_BYTES ~= 0 or string.byte(value, 2) ~= MARK then
      return nil
    end
    local log, count = {}, 0
    for position = HEADER_BYTES + 1, size, ENTRY_BYTES do
      count = count + 2
      log[count - 1], log[count] = struct.unpack('>I7I4', value, position)
    end
    return log
  end

  return {pack = pack_log, unpack = unpack_log}
end

-- How counters are written into Redis, and how limits are read from a call. README.md has the tables.

local pack, unpack_bytes = struct.pack, struct.unpack

-- A counter: warned and tag, at, first; `second` only when there is one. Twelve bytes keep a key within 100 bytes of memory.
local function pack_counter(tag, warned, at, first, second)
  if warned then tag = tag + 128 end
  if second == 0 then return pack('>BI7I4', tag, at, first) end
  return pack('>BI7I4I4', tag, at, first, second)
end

-- → tag, warned, at, first, second; nothing when the bytes are not a counter.
local function unpack_counter(value)
  local size = #value
  local tag, at, first, second
  if size == 12 then
    tag, at, first = unpack_bytes('>BI7I4', value)
    second = 0
  elseif size == 16 then
    tag, at, first, second = unpack_bytes('>BI7I4I4', value)
  else
    return nil
  end
  if tag < 128 then return tag, false, at, first, second end
  return tag - 128, true, at, first, second
end

-- A log: warned and tag, the letter L, then time and cost of each entry. No counter has such a length.
local LOG_MARK, LOG_HEADER, LOG_ENTRY, LOG_CHUNK = 76, 2, 11, 50

local function pack_log(tag, warned, log)
  if warned then tag = tag + 128 end
  local parts = {pack('>BB', tag, LOG_MARK)}
  local size = #log
  for i = 1, size, 2 * LOG_CHUNK do
    local last = i + 2 * LOG_CHUNK - 1
    if last > size then last = size end
    parts[#parts + 1] = pack('>' .. string.rep('I7I4', (last - i + 1) / 2), unpack(log, i, last))
  end
  return table.concat(parts)
end

-- → tag, warned, log; nothing when the bytes are not a log.
local function unpack_log(value)
  local size = #value
  if size < LOG_HEADER or (size - LOG_HEADER) % LOG_ENTRY ~= 0 then return nil end
  local tag, mark = unpack_bytes('>BB', value)
  if mark ~= LOG_MARK then return nil end
  local log, at = {}, 0
  for position = LOG_HEADER + 1, size, LOG_ENTRY do
    at = at + 2
    log[at - 1], log[at] = unpack_bytes('>I7I4', value, position)
  end
  if tag < 128 then return tag, false, log end
  return tag - 128, true, log
end

local LIMIT_BYTES = 39

-- One record of the call's limits, counted from 1.
--
-- Above 80 % of its capacity a counter warns, until it falls below 70 % (src/store/pressure.h). In whole units: it
-- starts when more than `warns_above` are used and goes on while more than `calm_at_most` are.
local function read_limit(records, index)
  local algorithm, tag, previous, capacity, denominator, interval_us, interval_remainder, full_us, full_remainder,
    period_us = unpack_bytes('>BBI2I4I4I6I4I7I4I6', records, (index - 1) * LIMIT_BYTES + 1)
  local limit = {
    algorithm = algorithm, tag = tag, previous = previous, capacity = capacity, denominator = denominator,
    interval_us = interval_us, interval_remainder = interval_remainder, full_us = full_us,
    full_remainder = full_remainder, period_us = period_us, charge = charges[algorithm + 1],
    warns_above = floor(capacity * 80 / 100), calm_at_most = math.ceil(capacity * 70 / 100) - 1,
    calm_us = false, calm_fraction = 0, warns_us = 0, warns_fraction = 0,
  }
  if algorithm < FIXED_WINDOW and capacity > 0 then
    limit.warns_us, limit.warns_fraction = gcra_plus_units(limit, 0, 0, limit.warns_above)
    limit.calm_us, limit.calm_fraction = gcra_plus_units(limit, 0, 0, limit.calm_at_most)
  end
  return limit
end

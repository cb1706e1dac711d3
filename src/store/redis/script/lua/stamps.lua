-- The numbers that a counter is kept under, as its value encodes them: README.md, Stamps. The twin of stamp.cc.
--
-- Returns stamp_of(limit)     →  the bytes with which values of this limit begin
--         numbers_in(value)   →  the numbers that a value begins with, as a limit without derived fields, and the
--                                length of the stamp; nil if no limit can have these numbers. `is_short`: for a
--                                short stamp.

local SHORT_BUCKET, SHORT_WINDOW, FULL, LOG = 128, 16, 64, 96  -- the least value of the first byte
local HAS_SCALE = 8  -- added to FULL
local FULL_BYTES, LOG_BYTES = 15, 15

local function stamps()
  local floor = math.floor
  local RATE_MAX, LOG_MAX = 1000000000, 4096
  local PERIOD_US_MIN, PERIOD_US_MAX = 1000, 366 * 86400000000

  local function stamp_of(limit)
    local algorithm, scale = limit.algorithm, limit.scale
    if algorithm == SLIDING_LOG then return struct.pack('>BI4I6I4', LOG, limit.count, limit.period_us, scale) end
    local count, capacity = limit.count, limit.capacity
    if algorithm >= FIXED_WINDOW and capacity > 0 then count, capacity = 1, 1 end
    if scale == 0 then return struct.pack('>BI4I6I4', FULL + algorithm, count, limit.period_us, capacity) end
    return struct.pack('>BI4I6I4I4', FULL + HAS_SCALE + algorithm, count, limit.period_us, capacity, scale)
  end

  -- 1 ms, 100 ms, 1 s, 5 s, …
  local function short_period_us(index)
    local PERIODS_MS = {
      1, 100, 1000, 5000, 10000, 15000, 30000, 60000, 300000, 600000, 900000, 1800000, 3600000, 86400000, 604800000, 2592000000,
    }
    return PERIODS_MS[index + 1] * 1000
  end

  local function short_bucket(stamp)
    local numbers = stamp % 16777216  -- 24 bits
    local words = (stamp - numbers) / 16777216
    local count, capacity = numbers, numbers
    if words % 2 == 1 then
      local function rounded(bits) return floor(bits / 4) * 10 ^ (bits % 4) end
      count, capacity = rounded(floor(numbers / 4096)), rounded(numbers % 4096)
    end
    return {
      algorithm = floor(words / 32) % 4, count = count, capacity = capacity, scale = 0,
      period_us = short_period_us(floor(words / 2) % 16),
    }, 4
  end

  local function unchecked(value)
    local kind, size = string.byte(value), #value
    if kind >= SHORT_BUCKET then
      if size < 4 or kind >= SHORT_BUCKET + 32 * FIXED_WINDOW then return nil end
      return short_bucket((struct.unpack('>I4', value)))
    elseif kind >= LOG then
      if kind > LOG + 1 or size < LOG_BYTES then return nil end
      local count, period_us, scale = struct.unpack('>I4I6I4', value, 2)
      return {algorithm = SLIDING_LOG, count = count, capacity = count, scale = scale, period_us = period_us}, LOG_BYTES
    elseif kind >= FULL then
      local bytes = FULL_BYTES + (kind % 16 >= HAS_SCALE and 4 or 0)
      if kind >= FULL + 16 or kind % HAS_SCALE >= SLIDING_LOG or size < bytes then return nil end
      local count, period_us, capacity = struct.unpack('>I4I6I4', value, 2)
      local scale = bytes > FULL_BYTES and struct.unpack('>I4', value, 16) or 0
      return {algorithm = kind % HAS_SCALE, count = count, capacity = capacity, scale = scale, period_us = period_us}, bytes
    elseif kind >= SHORT_WINDOW and kind < 3 * SHORT_WINDOW then
      return {
        algorithm = FIXED_WINDOW - 1 + floor(kind / 16), count = 1, capacity = 1, scale = 0, period_us = short_period_us(kind % 16),
      }, 1
    end
  end

  local function gcd(a, b)
    while b > 0 do a, b = b, a % b end
    return a
  end

  -- Fills in the derived fields of a bucket; false if they cannot be exact: see checked_limit_params().
  local function derive(numbers)
    numbers.denominator, numbers.interval_us, numbers.interval_remainder, numbers.full_us, numbers.full_remainder = 1, 0, 0, 0, 0
    if numbers.algorithm >= FIXED_WINDOW then return true end
    local EXACT_MAX, capacity = 9007199254740992, numbers.capacity
    local divisor = gcd(numbers.count, numbers.period_us)
    local denominator, period_us = numbers.count / divisor, numbers.period_us / divisor
    local interval_us = floor(period_us / denominator)
    local remainder = period_us - interval_us * denominator
    if capacity * interval_us >= EXACT_MAX / 2 then return false end
    if remainder > 0 and capacity > floor((EXACT_MAX - 1 - denominator) / remainder) then return false end
    local carry = floor(capacity * remainder / denominator)
    numbers.denominator, numbers.interval_us, numbers.interval_remainder = denominator, interval_us, remainder
    numbers.full_us, numbers.full_remainder = capacity * interval_us + carry, capacity * remainder - carry * denominator
    return numbers.full_us < EXACT_MAX / 2
  end

  local function numbers_in(value)
    local numbers, bytes = unchecked(value)
    if not numbers then return nil end
    local algorithm, count, capacity, period_us = numbers.algorithm, numbers.count, numbers.capacity, numbers.period_us
    if count < 1 or count > RATE_MAX or capacity < 1 or capacity > RATE_MAX or numbers.scale > RATE_MAX or
      period_us < PERIOD_US_MIN or period_us > PERIOD_US_MAX then
      return nil
    end
    if algorithm == SLIDING_LOG and (capacity > LOG_MAX or numbers.scale > LOG_MAX) then return nil end
    if algorithm >= FIXED_WINDOW and algorithm < SLIDING_LOG and (count > 1 or capacity > 1) then return nil end
    if not derive(numbers) then return nil end
    return numbers, bytes
  end

  return stamp_of, numbers_in
end

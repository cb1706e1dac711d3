-- What Sluice's script is measured against: one GCRA check per call, as a careful author would write it. Integers only,
-- interval with a remainder, the server's clock, an answer with remaining, retry and reset. The value is twelve bytes.
--
-- KEYS[1]; ARGV: cost, capacity, denominator, interval_us, interval_remainder, full_us, full_remainder

local cost, capacity, denominator = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local interval_us, interval_remainder = tonumber(ARGV[4]), tonumber(ARGV[5])
local full_us, full_remainder = tonumber(ARGV[6]), tonumber(ARGV[7])

local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]

local us, fraction = 0, 0
local value = redis.call('GET', KEYS[1])
if value then
  local at, first = struct.unpack('>I7I4B', value)
  if at >= now_us then us, fraction = at - now_us, first end
end

local after_us, after_fraction = us + cost * interval_us, fraction + cost * interval_remainder
if after_fraction >= denominator then
  local carry = math.floor(after_fraction / denominator)
  after_us, after_fraction = after_us + carry, after_fraction - carry * denominator
end

local allowed, retry_after_us = 1, 0
if after_us < full_us or (after_us == full_us and after_fraction <= full_remainder) then
  us, fraction = after_us, after_fraction
  redis.call('SET', KEYS[1], struct.pack('>I7I4B', now_us + us, fraction, 0), 'PX', math.ceil(us / 1000) + 1)
else
  allowed, retry_after_us = 0, after_us - full_us + 1
end

local interval = interval_us + interval_remainder / denominator
local remaining = math.floor((full_us - us) / interval)
return {allowed, remaining, retry_after_us, us, now_us}

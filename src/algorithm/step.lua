-- What the algorithms have in common: which functions are whose, when a counter can be forgotten, and what becomes
-- of it when the numbers of its limit change. The twin of step.cc.
--
-- `limit.algorithm`: 0 gcra, 1 token_bucket, 2 leaky_bucket, 3 fixed_window, 4 sliding_window, 5 sliding_log

local FIXED_WINDOW, SLIDING_WINDOW, SLIDING_LOG = 3, 4, 5

local charges = {gcra_charge, token_bucket_charge, leaky_bucket_charge, fixed_window_charge, sliding_window_charge}
local explains = {gcra_explain, token_bucket_explain, leaky_bucket_explain, fixed_window_explain, sliding_window_explain}

local function is_bucket(limit) return limit.algorithm < FIXED_WINDOW end

local function units_used(limit, at, first, second, now_us)
  if is_bucket(limit) then return gcra_units_used(limit, at, first, second, now_us) end
  if limit.algorithm == FIXED_WINDOW then return fixed_window_units_used(limit, at, first, second, now_us) end
  return sliding_window_units_used(limit, at, first, second, now_us)
end

-- The moment from which on the state decides exactly as a fresh one.
local function fresh_at_us(limit, at, first, second)
  if is_bucket(limit) then
    if first > 0 then return at + 1 end
    return at
  end
  if limit.algorithm == SLIDING_WINDOW and first > 0 then return (at + 2) * limit.period_us end
  return (at + 1) * limit.period_us
end

-- True when a state means the same under both limits, whatever their capacities.
local function same_meter(a, b)
  if a.capacity == 0 or b.capacity == 0 then return false end
  if is_bucket(a) and is_bucket(b) then
    return a.denominator == b.denominator and a.interval_us == b.interval_us and
      a.interval_remainder == b.interval_remainder
  end
  return a.algorithm == b.algorithm and a.period_us == b.period_us
end

-- The state of a fresh counter with that many units used. REQUIRES: units <= capacity.
local function with_units_used(limit, units, now_us)
  if units == 0 then return 0, 0, 0 end
  if not is_bucket(limit) then return floor(now_us / limit.period_us), units, 0 end
  local us, fraction = gcra_plus_units(limit, 0, 0, units)
  return now_us + us, fraction, 0
end

-- The state that means the same consumption under the new numbers: at, first, second.
-- REQUIRES: neither is a sliding log.
local function migrate(from, to, at, first, second, now_us)
  local denied_cost = 0  -- of a leaky bucket; it outlives a change of numbers only
  if is_bucket(to) and from.algorithm == to.algorithm then denied_cost = second end
  if same_meter(from, to) then
    if not is_bucket(to) then return at, first, second end
    local us, fraction = gcra_used(to, at, first, now_us)
    if us == 0 and fraction == 0 then return 0, 0, denied_cost end
    return now_us + us, fraction, denied_cost
  end
  local units = units_used(from, at, first, second, now_us)
  if units > to.capacity then units = to.capacity end
  at, first, second = with_units_used(to, units, now_us)
  if is_bucket(to) then second = denied_cost end
  return at, first, second
end

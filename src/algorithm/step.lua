-- What the algorithms have in common: which is which, and what becomes of a counter when the numbers of its limit
-- change. The twin of step.cc and migrate.cc.

local LEAKY_BUCKET, FIXED_WINDOW, SLIDING_LOG = 2, 3, 5  -- `limit.algorithm`; the buckets are 0, 1, 2

-- By algorithm, counted from 1.
local algorithms = {
  gcra_steps, token_bucket_steps, leaky_bucket_steps, fixed_window_steps, sliding_window_steps, sliding_log_steps,
}

local PROPORTIONAL, RESET = 1, 2  -- `limit.on_change`; 0 keeps

-- The twin of migrate.cc. Returns
--   migrate(from, to, at, first, second, now_us)  →  at, first, second under the new numbers. REQUIRES: neither is a log
--   carried(from, to, units)                      →  the units in use when so many were under the former numbers
--   migrate_log(from, to, log, now_us)            →  whether it has changed; from one sliding log to another, in place
-- `limit.steps` are those of its algorithm.
local function migration()
  local function is_bucket(limit) return limit.algorithm < FIXED_WINDOW end

  -- True when a state means the same under both limits, whatever their capacities.
  local function same_meter(a, b)
    if a.capacity == 0 or b.capacity == 0 then return false end
    if is_bucket(a) and is_bucket(b) then
      return a.denominator == b.denominator and a.interval_us == b.interval_us and
        a.interval_remainder == b.interval_remainder
    end
    return a.algorithm == b.algorithm and a.period_us == b.period_us
  end

  local function same_numbers(a, b)
    return a.algorithm == b.algorithm and a.capacity == b.capacity and a.denominator == b.denominator and
      a.interval_us == b.interval_us and a.interval_remainder == b.interval_remainder and a.period_us == b.period_us
  end

  -- units × to ÷ from, rounded up. All are below 2^30, the product is not below 2^53: so in two digits of 15 bits.
  local function scaled(units, to, from)
    local DIGIT = 32768
    local low = units % DIGIT
    local product = (units - low) / DIGIT * to
    local high = math.floor(product / from)
    return high * DIGIT + math.ceil(((product - high * from) * DIGIT + low * to) / from)
  end

  local function carried(from, to, units)
    if to.on_change == RESET then return 0 end
    if to.on_change ~= PROPORTIONAL then return math.min(units, to.capacity) end
    if from.capacity == 0 then return 0 end
    return scaled(math.min(units, from.capacity), to.capacity, from.capacity)
  end

  local function migrate(from, to, at, first, second, now_us)
    if same_numbers(from, to) then return at, first, second end
    if to.on_change == RESET then return 0, 0, 0 end
    local new_at, new_first, new_second = 0, 0, 0
    if to.on_change ~= PROPORTIONAL and same_meter(from, to) then
      if not is_bucket(to) then return at, first, second end
      local us, fraction = to.steps.used(to, at, first, now_us)
      if us > 0 or fraction > 0 then new_at, new_first = now_us + us, fraction end
    else
      local units = carried(from, to, from.steps.units_used(from, at, first, second, now_us))
      new_at, new_first, new_second = to.steps.with_units_used(to, units, now_us)
    end
    if from.algorithm ~= LEAKY_BUCKET or to.algorithm ~= LEAKY_BUCKET then return new_at, new_first, new_second end
    -- Its denied cost outlives a change of its numbers, of nothing else.
    local denied = from.steps.denied_cost(from, at, second, now_us)
    return to.steps.with_denied_cost(new_at, new_first, denied, math.min(at, now_us))
  end

  local function migrate_log(from, to, log, now_us)
    if to.on_change ~= PROPORTIONAL and to.on_change ~= RESET or same_numbers(from, to) then return false end
    from.steps.units_used(from, log, now_us)  -- settles it
    local newer, carried_newer, kept = 0, 0, {}
    for i = #log, 2, -2 do
      newer = newer + log[i]
      local cost = carried(from, to, newer) - carried_newer
      carried_newer = carried_newer + cost
      if cost > 0 then
        kept[#kept + 1] = cost
        kept[#kept + 1] = log[i - 1]
      end
    end
    for i = 1, #log do log[i] = kept[#kept + 1 - i] end
    return true
  end

  return migrate, carried, migrate_log
end

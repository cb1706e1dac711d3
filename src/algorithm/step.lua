-- What the algorithms have in common: which is which, and what becomes of a counter when the numbers of its limit
-- change. The twin of step.cc.

local FIXED_WINDOW, SLIDING_LOG = 3, 5  -- `limit.algorithm`; the buckets are 0, 1, 2

-- By algorithm, counted from 1.
local algorithms = {
  gcra_steps, token_bucket_steps, leaky_bucket_steps, fixed_window_steps, sliding_window_steps, sliding_log_steps,
}

-- migrate(from, to, at, first, second, now_us)  →  at, first, second: the state that means the same consumption under
-- the new numbers. `limit.steps` are those of its algorithm. REQUIRES: neither is a sliding log.
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

  return function(from, to, at, first, second, now_us)
    local denied_cost = 0  -- of a leaky bucket; it outlives a change of numbers only
    if is_bucket(to) and from.algorithm == to.algorithm then denied_cost = second end
    if same_meter(from, to) then
      if not is_bucket(to) then return at, first, second end
      local us, fraction = to.steps.used(to, at, first, now_us)
      if us == 0 and fraction == 0 then return 0, 0, denied_cost end
      return now_us + us, fraction, denied_cost
    end
    local units = math.min(from.steps.units_used(from, at, first, second, now_us), to.capacity)
    at, first, second = to.steps.with_units_used(to, units, now_us)
    if is_bucket(to) then second = denied_cost end
    return at, first, second
  end
end

-- The limits of a call, read from ARGV[1] when first asked for: limit_at(index), counted from 1.

local LIMIT_BYTES = 39

local function limit_reader(records)
  local limits, steps_of = {}, {}

  -- Whether a counter warns, given its state after a charge and whether it did before. Above 80 % of its capacity it
  -- starts, below 70 % it stops (src/store/pressure.h): when more than `warns_above` whole units are used, and as long as
  -- more than `calm_at_most` are.
  local function window_warns(limit, warned, at, first, second, now_us)
    local units = math.min(limit.steps.units_used(limit, at, first, second, now_us), limit.capacity)
    return units > (warned and limit.calm_at_most or limit.warns_above)
  end

  -- The same in lengths of time, which are cheaper to compare. What is below `calm_us` does not warn; see driver.lua.
  local function bucket_warns(limit, warned, at, first, _, now_us)
    local us = at - now_us
    if us > limit.warns_us or (us == limit.warns_us and first > limit.warns_fraction) then return true end
    return warned and (us > limit.calm_us or (us == limit.calm_us and first > limit.calm_fraction))
  end

  return function(index)
    local limit = limits[index]
    if limit then return limit end
    local algorithm, tag, previous, capacity, denominator, interval_us, interval_remainder, full_us, full_remainder,
      period_us = struct.unpack('>BBI2I4I4I6I4I7I4I6', records, (index - 1) * LIMIT_BYTES + 1)
    local former, on_change = algorithm >= 32, math.floor(algorithm / 8) % 4
    algorithm = algorithm % 8
    local steps = steps_of[algorithm]
    if not steps then
      steps = algorithms[algorithm + 1]()
      steps_of[algorithm] = steps
    end
    limit = {
      algorithm = algorithm, on_change = on_change, former = former, tag = tag, previous = previous, capacity = capacity, denominator = denominator,
      interval_us = interval_us, interval_remainder = interval_remainder, full_us = full_us,
      full_remainder = full_remainder, period_us = period_us, steps = steps, charge = steps.charge,
      fresh_at_us = steps.fresh_at_us, is_log = algorithm == SLIDING_LOG, warns = window_warns,
      warns_above = math.floor(capacity * 80 / 100), calm_at_most = math.ceil(capacity * 70 / 100) - 1,
      calm_us = -math.huge, calm_fraction = 0, warns_us = 0, warns_fraction = 0,
    }
    if algorithm < FIXED_WINDOW and capacity > 0 then
      limit.warns = bucket_warns
      limit.warns_us, limit.warns_fraction = steps.plus_units(limit, 0, 0, limit.warns_above)
      limit.calm_us, limit.calm_fraction = steps.plus_units(limit, 0, 0, limit.calm_at_most)
    end
    limits[index] = limit
    return limit
  end
end

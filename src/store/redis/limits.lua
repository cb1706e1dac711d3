-- The limits of a call, read from ARGV[1] when first asked for: limit_at(index), counted from 1.

local LIMIT_BYTES = 39

local function limit_reader(records)
  local limits, steps_of = {}, {}

  -- Above 80 % of its capacity a counter warns, until it falls below 70 % (src/store/pressure.h). In whole units:
  -- it starts when more than `warns_above` are used and goes on while more than `calm_at_most` are. For a bucket also as
  -- lengths of time, which are cheaper to compare.
  local function add_warnings(limit)
    limit.warns_above = math.floor(limit.capacity * 80 / 100)
    limit.calm_at_most = math.ceil(limit.capacity * 70 / 100) - 1
    if limit.algorithm >= FIXED_WINDOW or limit.capacity == 0 then return end
    limit.warns_us, limit.warns_fraction = limit.steps.plus_units(limit, 0, 0, limit.warns_above)
    limit.calm_us, limit.calm_fraction = limit.steps.plus_units(limit, 0, 0, limit.calm_at_most)
  end

  return function(index)
    local limit = limits[index]
    if limit then return limit end
    local algorithm, tag, previous, capacity, denominator, interval_us, interval_remainder, full_us, full_remainder,
      period_us = struct.unpack('>BBI2I4I4I6I4I7I4I6', records, (index - 1) * LIMIT_BYTES + 1)
    local steps = steps_of[algorithm]
    if not steps then
      steps = algorithms[algorithm + 1]()
      steps_of[algorithm] = steps
    end
    limit = {
      algorithm = algorithm, tag = tag, previous = previous, capacity = capacity, denominator = denominator,
      interval_us = interval_us, interval_remainder = interval_remainder, full_us = full_us,
      full_remainder = full_remainder, period_us = period_us, steps = steps, charge = steps.charge,
      is_log = algorithm == SLIDING_LOG, warns_above = 0, calm_at_most = 0,
      warns_us = 0, warns_fraction = 0, calm_us = false, calm_fraction = 0,
    }
    add_warnings(limit)
    limits[index] = limit
    return limit
  end
end

-- The limits of a call, read from ARGV[1] when first needed.
--
-- limit_reader(records) returns limit_at(index)   →  the limit with this number, counted from 1
--                               limit_in(value)   →  the limit that a value is kept under, by its stamp; nil if the
--                                                    value is not a counter
--
-- Beside its numbers, a limit has `stamp`, with which its values begin, and its length `stamp_bytes`; `form` and
-- `state_bytes`: how `at` and `first` follow; `steps`: those of its algorithm; and what decide.lua needs all the time.

local LIMIT_BYTES = 48
local WARNED = 36028797018963968  -- 2^55, added to `at` in a value: to its first byte, as no double holds the sum exactly
local WARNED_BYTE, BYTE_OF_AT = 128, 281474976710656  -- 2^48: the unit of that byte

local function limit_reader(records)
  local limits, limits_in, steps_of = {}, {}, {}
  local stamp_of, numbers_in  -- of stamps.lua

  -- Whether a counter warns, given its state after a charge and whether it warned before. It starts above 80 % of its
  -- capacity and stops below 70 % (src/store/pressure.h): it starts when more than `warns_above` whole units are used, and
  -- goes on while more than `calm_at_most` are.
  local function window_warns(limit, warned, at, first, second, now_us)
    local units = math.min(limit.steps.units_used(limit, at, first, second, now_us), limit.capacity)
    return units > (warned and limit.calm_at_most or limit.warns_above)
  end

  -- The same in lengths of time, which are cheaper to compare. Anything below `calm_us` does not warn; see decide.lua.
  local function bucket_warns(limit, warned, at, first, _, now_us)
    local us = at - now_us
    if us > limit.warns_us or (us == limit.warns_us and first > limit.warns_fraction) then return true end
    return warned and (us > limit.calm_us or (us == limit.calm_us and first > limit.calm_fraction))
  end

  -- Completes a limit from its numbers.
  local function complete(limit, stamp, form)
    local algorithm, capacity = limit.algorithm, limit.capacity
    local steps = steps_of[algorithm]
    if not steps then
      steps = algorithms[algorithm + 1]()
      steps_of[algorithm] = steps
    end
    limit.steps, limit.charge, limit.fresh_at_us = steps, steps.charge, steps.fresh_at_us
    limit.stamp, limit.stamp_bytes, limit.form = stamp, #stamp, form
    limit.state_bytes = struct.size(form)
    limit.is_log = algorithm == SLIDING_LOG
    limit.warns, limit.warns_above = window_warns, math.floor(capacity * 80 / 100)
    limit.calm_at_most = math.max(math.ceil(capacity * 70 / 100) - 1, 0)
    limit.calm_us, limit.calm_fraction, limit.warns_us, limit.warns_fraction = -math.huge, 0, 0, 0
    if algorithm < FIXED_WINDOW and capacity > 0 then
      limit.warns = bucket_warns
      limit.warns_us, limit.warns_fraction = steps.plus_units(limit, 0, 0, limit.warns_above)
      limit.calm_us, limit.calm_fraction = steps.plus_units(limit, 0, 0, limit.calm_at_most)
    end
    return limit
  end

  local function form_of(kind) return kind >= SHORT_BUCKET and '>I7B' or '>I7I4' end

  local function limit_at(index)
    local limit = limits[index]
    if limit then return limit end
    local algorithm, count, period_us, capacity, scale, denominator, interval_us, interval_remainder, full_us, full_remainder, stamp =
      struct.unpack('>BI4I6I4I4I4I6I4I7I4c4', records, (index - 1) * LIMIT_BYTES + 1)
    limit = {
      algorithm = algorithm, count = count, period_us = period_us, capacity = capacity, scale = scale, denominator = denominator,
      interval_us = interval_us, interval_remainder = interval_remainder, full_us = full_us, full_remainder = full_remainder,
    }
    local kind = string.byte(stamp)
    if kind == 0 then
      if not stamp_of then stamp_of, numbers_in = stamps() end
      stamp = stamp_of(limit)
    elseif kind < SHORT_BUCKET then
      stamp = string.sub(stamp, 1, 1)
    end
    limit = complete(limit, stamp, form_of(kind))
    limits[index] = limit
    return limit
  end

  local function limit_in(value)
    if not numbers_in then stamp_of, numbers_in = stamps() end
    local numbers, bytes = numbers_in(value)
    if not numbers then return nil end
    local stamp = string.sub(value, 1, bytes)
    if numbers.algorithm == SLIDING_LOG then stamp = stamp_of(numbers) end  -- without `warned`
    local limit = limits_in[stamp]
    if not limit then
      limit = complete(numbers, stamp, form_of(string.byte(stamp)))
      limits_in[stamp] = limit
    end
    return limit
  end

  return limit_at, limit_in
end

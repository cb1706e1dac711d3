-- Leaky bucket, as a meter: the twin of leaky_bucket.h, which explains it. It admits and denies as gcra does, and keeps
-- in `second` the cost of the denied checks that it was part of since its last admission.
--
-- Steps that only this algorithm has:
--
--   denied_cost(limit, at, second, now_us)                      →  the denied cost, while it is still remembered
--   deny(limit, at, second, now_us, cost, new_at, new_first)    →  new_at, new_first, second: the level after a denied
--                                                                  check, with its cost counted; at, second: before it
--   with_denied_cost(at, first, denied, dated_us)               →  at, first, second: a level with this denied cost;
--                                                                  dated_us: when the bucket was empty, if it is

local DENIED_COST_MAX = 4194303  -- 2^22 − 1

local function leaky_bucket_steps()
  local steps = gcra_steps()
  local meter, empty_at_us = steps.charge, steps.fresh_at_us

  -- How long it is remembered: as long as a full bucket takes to run empty.
  local function memory_us(limit)
    if limit.full_remainder > 0 then return limit.full_us + 1 end
    return limit.full_us
  end

  local function denied_cost(limit, at, second, now_us)
    if second == 0 or limit.capacity == 0 or now_us - at >= memory_us(limit) then return 0 end
    return second
  end

  local function with_denied_cost(at, first, denied, dated_us)
    if denied > 0 and at == 0 and first == 0 then at = dated_us end
    return at, first, denied
  end

  local function deny(limit, at, second, now_us, cost, new_at, new_first)
    if limit.capacity == 0 then return new_at, new_first, 0 end
    second = denied_cost(limit, at, second, now_us) + cost
    if second > DENIED_COST_MAX then second = DENIED_COST_MAX end
    if new_at < now_us then new_at = now_us end
    return new_at, new_first, second
  end

  function steps.charge(limit, at, first, second, now_us, cost, count_denied)
    local allowed, new_at, new_first = meter(limit, at, first, second, now_us, cost, count_denied)
    if not allowed then return false, deny(limit, at, second, now_us, cost, new_at, new_first) end
    if cost > 0 then return true, new_at, new_first, 0 end
    return true, with_denied_cost(new_at, new_first, denied_cost(limit, at, second, now_us), at)
  end

  function steps.fresh_at_us(limit, at, first, second)
    if second > 0 then return at + memory_us(limit) end
    return empty_at_us(limit, at, first)
  end

  steps.denied_cost, steps.deny, steps.with_denied_cost = denied_cost, deny, with_denied_cost
  return steps
end

-- Leaky bucket, as a meter: the twin of leaky_bucket.h. It admits and denies as gcra does, and remembers in `second`
-- how much it has denied since its last admission.

local DENIED_COST_MAX = 4194303  -- 2^22 − 1

local function leaky_bucket_steps()
  local steps = gcra_steps()
  local meter = steps.charge

  function steps.charge(limit, at, first, second, now_us, cost, count_denied)
    local allowed, new_at, new_first = meter(limit, at, first, second, now_us, cost, count_denied)
    if not allowed then
      second = second + cost
      if second > DENIED_COST_MAX then second = DENIED_COST_MAX end
    elseif cost > 0 then
      second = 0
    end
    return allowed, new_at, new_first, second
  end

  return steps
end

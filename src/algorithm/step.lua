-- The algorithms by number. The twin of step.cc.

local LEAKY_BUCKET, FIXED_WINDOW, SLIDING_LOG = 2, 3, 5  -- `limit.algorithm`; the buckets are 0, 1, 2

-- By algorithm, counted from 1.
local algorithms = {
  gcra_steps, token_bucket_steps, leaky_bucket_steps, fixed_window_steps, sliding_window_steps, sliding_log_steps,
}

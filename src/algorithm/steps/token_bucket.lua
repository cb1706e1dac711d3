-- Token bucket: the meter of gcra.lua in other words; token_bucket.h says why.

local token_bucket_steps = gcra_steps

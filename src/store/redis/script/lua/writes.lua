-- The end of decide.lua: everything is decided, and what has changed is written. On a server without memory when_full.lua stands
-- before it.

if journals then note_in_journals(journals, values, reply, counter_keys) end

-- Write what has changed. Redis keeps the arguments of a script's commands and uses them again by position; the first SET
-- would store its value in the memory of MGET's second key, twice as large as need be. So it is done twice.
local once_more = #KEYS > 1
local texts, to_real_us, real_now_ms = {}, real_now_us - now_us, real_now_us / 1000
local ceil, frexp = math.ceil, math.frexp
for index = 1, counter_keys do
  local value = values[index]
  if value ~= reply[index + 1] then
    if not value then
      call('DEL', KEYS[index])
    else
      -- Rounded up by an eighth of the way at most, so that the keys of a batch share few texts, which are
      -- expensive to make. Being late is harmless: the state itself says that it is as good as new.
      local moment = ceil((fresh_us[index] + to_real_us) / 1000)
      local _, exponent = frexp(moment - real_now_ms)
      if exponent > 4 then
        local grain = 2 ^ (exponent - 4)
        moment = ceil(moment / grain) * grain
      end
      local text = texts[moment]
      if not text then
        text = string.format('%.0f', moment)
        texts[moment] = text
      end
      if once_more then
        call('SET', KEYS[index], value)
        once_more = false
      end
      call('SET', KEYS[index], value, 'PXAT', text)
    end
  end
end
if general then general.write_records() end
return reply

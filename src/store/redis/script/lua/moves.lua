-- Tenants whose counters are moving to another server, or have moved there: tenant_move.h explains all of it.

-- KEYS, except the last, are the keys of a call; the last is a hash with a record for each such tenant. Returns the
-- indexes of the keys that must not be touched here, as a text, or nil; and the journals of those that are being
-- copied: index of the key → name of the journal, or nil.
local function keys_on_the_move(now_us)
  local moves, owners, asked, owner_of = KEYS[#KEYS], {}, {}, {}
  for i = 1, #KEYS - 1 do
    local key = KEYS[i]
    local letters = string.sub(key, -22, -21)
    if letters ~= 'AA' then
      local owner = string.sub(key, -26, -24) .. letters
      owner_of[i] = owner
      if not asked[owner] then
        owners[#owners + 1], asked[owner] = owner, true
      end
    end
  end
  local states, any = {}, false
  for i = 1, #owners do
    local record = redis.call('HGET', moves, owners[i])
    local state = record and string.sub(record, 1, 1)
    -- A copy whose mover is late is void: nobody relies on its journal any more.
    if state == 'c' and tonumber(string.sub(record, 34, 47)) * 1000 <= now_us then state = false end
    if state and state ~= 'o' then states[owners[i]], any = state, true end
  end
  if not any then return nil, nil end
  local refused, journals = {}, {}
  for i, owner in pairs(owner_of) do
    if states[owner] == 'c' then
      journals[i] = string.sub(moves, 1, -6) .. '{' .. string.sub(owner, 1, 3) .. '}' .. string.sub(owner, 4) .. 'journal'
    elseif states[owner] then
      refused[#refused + 1] = i
    end
  end
  if #refused > 0 then return table.concat(refused, ' '), nil end
  return nil, journals
end

-- Keys are noted before they are written. The key of a request id is always noted, as it may be written.
local function note_in_journals(journals, values, before, counter_keys)
  local KEPT_MS = 60000
  for i, journal in pairs(journals) do
    if i > counter_keys or values[i] ~= before[i + 1] then
      redis.call('SADD', journal, KEYS[i])
      redis.call('PEXPIRE', journal, KEPT_MS)
    end
  end
end

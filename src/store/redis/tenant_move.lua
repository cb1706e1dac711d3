-- One step of a tenant's way from one server to another, at either end: tenant_move.h tells the whole.
--
--   EVAL script 2 moves journal  operation who move owner lease_ms other  …
--
-- `who`: the letters of the tenant's keys. `move`, `owner`: 16 letters each. `other`: the cell at the other end, a
-- newline, the tenant's name. A record is state 1, move 16, owner 16, until_ms 14, other. Returns {state, detail}, as it is
-- afterwards; {'busy'}: another mover is at it; {'lost'}: it is ours no more.
local moves, journal = KEYS[1], KEYS[2]
local operation, who, move, owner, lease_ms, other = unpack(ARGV)
local ARGUMENTS, JOURNAL_MS = 6, 60000
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

local record = redis.call('HGET', moves, who)
local state, its_move, its_owner, until_ms, its_other = '-', '', '', 0, ''
if record then
  state, its_move, its_owner = string.sub(record, 1, 1), string.sub(record, 2, 17), string.sub(record, 18, 33)
  until_ms, its_other = tonumber(string.sub(record, 34, 47)), string.sub(record, 48)
end
local is_mine, is_live = its_owner == owner, until_ms > now_ms
local is_source = state == 'c' or state == 'f'

local function become(new_state, of_move)
  local until_text = string.format('%014.0f', now_ms + lease_ms)
  redis.call('HSET', moves, who, new_state .. of_move .. owner .. until_text .. other)
  return {new_state, of_move}
end

local operations = {}

-- At the source. A mover that is late, or dead, is followed by the next.
function operations.claim()
  if is_source and is_live and not is_mine then return {'busy', its_move} end
  if state == 'x' or state == 'a' then return {state, its_other} end
  redis.call('DEL', journal)
  if is_source then return become(state, its_move) end
  return become('c', move)
end

function operations.renew()
  if not (is_source and is_mine and is_live) then return {'lost', state} end
  redis.call('PEXPIRE', journal, JOURNAL_MS)
  return become(state, its_move)
end

function operations.freeze()
  if not (is_source and is_mine and is_live) then return {'lost', state} end
  return become('f', its_move)
end

function operations.close()
  if state == 'x' and its_move == move then return {'x', its_move} end
  if not (state == 'f' and is_mine) then return {'lost', state} end
  redis.call('DEL', journal)
  return become('x', its_move)
end

-- The move is called off: it lives here, as before.
function operations.release()
  if not (is_source and is_mine) then return {'lost', state} end
  redis.call('DEL', journal)
  return become('o', its_move)
end

-- It lives elsewhere from now on, and nothing was carried there.
function operations.leave()
  if state == 'o' then redis.call('HDEL', moves, who) end
  return {'-'}
end

-- What is left of a tenant that has gone, and has not come back since.
function operations.remove()
  local gone = (state == 'x' and its_move == move) or (move == '' and (state == 'x' or state == '-'))
  if not gone then return {'lost', state} end
  redis.call('UNLINK', unpack(ARGV, ARGUMENTS + 1))
  return {state}
end

-- At the target.
function operations.arrive()
  if state == 'o' and its_move == move then return {'o', its_move} end
  if is_source and is_live then return {'busy', its_move} end
  return become('a', move)
end

-- Names, values and times to live; without the last a key that is gone.
function operations.write()
  if not (state == 'a' and is_mine) then return {'lost', state} end
  for i = ARGUMENTS + 1, #ARGV, 3 do
    local name, value, ttl_ms = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    if ttl_ms == '' then
      redis.call('UNLINK', name)
    elseif ttl_ms == '-1' then
      redis.call('SET', name, value)
    else
      redis.call('SET', name, value, 'PX', ttl_ms)
    end
  end
  return {'a', its_move}
end

function operations.open()
  if state == 'o' and its_move == move then return {'o', its_move} end
  if not (state == 'a' and is_mine) then return {'lost', state} end
  return become('o', its_move)
end

-- Whatever was: from now on it lives here.
function operations.settle() return become('o', move) end

return operations[operation]()

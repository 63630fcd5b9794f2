-- Any limits at any keys. ARGV[1]: the number of keys that are asked; the longest wait of an event in microseconds;
-- then for each key the number of its limits, or 0 for one in a ring, and the limits: kind, flags, rule, event,
-- numbers. The flags are added up. 1: it is in force, 2: it is of a shadow, 4: it counts only events that it lets pass
-- itself, 8: an event that would have to wait for it for longer is not counted, 16: it is only looked at. Then, in the
-- same way, the keys to which a cost is given back if all else passes, with the time at which it was counted before the
-- numbers.
local asked_, longest_ = unpack('<I2d', args_)
local delayed_, refused_, refusing_, rest_ = false, {}, {}, nil
-- Something else has refused all of these events.
local elsewhere_ = not allowed_
local asks_, gives_back_, said_, told_ = {}, {}, {}, {}

-- Notes the outcome of a limit.
local function note_(flag, rule, event, passes, level, extra)
  said_[#said_ + 1] = pack('<Bdd', passes and 1 or 0, level, extra)
  if flag % 2 == 1 and not passes then
    refused_[rule] = true
    if flag % 4 < 2 then allowed_, refusing_[event] = false, true end
  end
  if flag % 16 >= 8 and passes and extra > longest_ then delayed_ = true end
end

-- Whether the state of a limit may change now that all were asked, and whether the event counts there as allowed.
-- When something refuses, only the events that are refused themselves are told to their limits.
local function judge_(flag, rule, event, passes)
  if looks_ or flag >= 16 then return false, false end
  if charges_ then return true, true end
  if not allowed_ then return elsewhere_ or refusing_[event], false end
  if delayed_ then return false, false end
  -- A shadow counts the events that it would count if it could refuse. A limit whose relaxed form is in force in its
  -- place counts only those that it lets pass itself.
  return true, flag == 1 or (flag % 4 < 2 or not refused_[rule]) and (flag % 8 < 4 or passes)
end

-- The value of a key: all of its states, or the head of a ring.
local function found_at_(key, is_ring)
  if not is_ring then return call('GET', key) end
  local head = call('GETRANGE', key, 0, 71)
  return head ~= '' and head
end

-- The part of the answer about the states of a key.
local function tell_(value)
  return value and pack('<BI4', 1, #value) .. value or '\0'
end

local key_

-- Asks the next limit at a key. Returns the new value of this key for the limits from here on: their
-- states, how long these are of use, and whether any has changed.
local function ask_(key, s, i, next_, left, n)
  local kind, flag, rule, event
  kind, flag, rule, event, next_ = unpack('<BBI2I2', args_, next_)
  return asks_[kind](key, s, i, next_, flag, rule, event, left - 1, n)
end

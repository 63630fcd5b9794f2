-- The fixed window: at most `most` millionths in `period` microseconds, from `offset` after each multiple of the period;
-- if the offset is the period, from the first event that is counted. With `attempts` 1, refused events count, too.
-- Source: crates/ratescope/src/limit/fixed_window.rs.
local WINDOW = string.rep('\0', 9)

--- numbers: most period offset attempts
local before, content
before, i = unpack('<i8', s, i)
content, i = amount(s, i)
--- look
local begin, moved = now, false
if offset < period then begin = now - (now - offset) % period end
if content > 0 then
  -- A state of a later window means that the clock was set back: it moves to this window and is written, even if the
  -- event is refused.
  if now - before >= period then content = 0
  elseif before - now > period then moved = true
  else begin = before end
end
local passes, level, extra = content + w <= most, (content + w) / 1000000, 0

--- keep
local counts = (counted or attempts == 1) and w > 0
if counts then content = content + w end
if attempts == 1 and content > 4503599627000000 then content = 4503599627000000 end
if counts or moved then
  bytes = content > 0 and pack('<i8', begin) .. put_amount(content) or WINDOW
end
life = begin + period - now

--- undo
-- Only the window in which the event was counted gives back.
if content > 0 and when >= before and when - before < period then
  bytes = pack('<i8', before) .. put_amount(content > w and content - w or 0)
end

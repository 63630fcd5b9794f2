-- The fixed window: at most `most` millionths in `period` microseconds.
-- Source: crates/ratescope/src/limit/fixed_window.rs.
local WINDOW = '\0\0'

--- numbers: most period
local before, content
before, i = signed(s, i)
content, i = amount(s, i)
--- look
local number = floor(now / period)
-- With a state of the next window, the event counts in that window. A state of a later window means that the clock was
-- set back: the state moves to this window and is written, even if the event is refused.
if before == number + 1 then number = before end
if before < number then content = 0 end
local moved = before ~= number and content > 0
local passes, level, extra = content + w <= most, (content + w) / 1000000, 0

--- keep
local counts = counted and w > 0
if counts then content = content + w end
if counts or moved then
  bytes = content > 0 and put_signed(number) .. put_amount(content) or WINDOW
end
life = (number + 1) * period - now

--- undo
-- Only the window in which the event was counted gives back.
if before == floor(when / period) and content > 0 then
  bytes = put_signed(before) .. put_amount(content > w and content - w or 0)
end

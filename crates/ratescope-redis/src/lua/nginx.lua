-- nginx's limit_req: `rate` thousandths of a request drain in a second, and a sender may be `most`
-- thousandths ahead of that. Events that are more than `delay` thousandths ahead wait; with a `delay`
-- below 0 none does.
-- Source: crates/ratescope/src/limit/nginx.rs; nginx, ngx_http_limit_req_module.
-- A state has the rate by which it was counted, since it drains by this rate until an event is counted by another.
local NGINX = '\207\15\0\0' -- a new state: 1000 thousandths behind, at the origin of time

--- numbers: rate most delay
local excess, last, drain
excess, i = signed(s, i)
last, i = signed(s, i)
drain, i = whole(s, i)
if drain == 0 then drain = rate end
local here = floor(now / 1000)
local passed = here - last
if passed < -60000 then
  passed = 1 -- The clock was set back.
elseif passed < 0 then
  passed = 0
end
excess = excess - floor(drain * passed / 1000)
if excess < -1000 then excess = -1000 end
local with = excess + ceil(w / 1000)
local passes, level, extra = with <= most, (with + 1000) / 1000, 0
if delay >= 0 and with > delay then extra = floor((with - delay) * 1000 / rate) * 1000 end
if passed > 0 then last = here end

--- keep
if counted and w > 0 then
  if with > 2 * most + 1000 then with = 2 * most + 1000 end
  bytes = put_signed(with) .. put_signed(last) .. put(rate)
  drain = rate
end
if w ~= w then with = 2 * most + 1000 end
life = (with + 1000) / drain * 1000000 + 61000000

local answer_ = {allowed_ and 1 or 0, tostring(allowed_ and wait_ or 0)}
for n = 1, #levels_ do
  answer_[2 * n + 1], answer_[2 * n + 2] = tostring(levels_[n]), tostring(bounds_[n])
end
return answer_

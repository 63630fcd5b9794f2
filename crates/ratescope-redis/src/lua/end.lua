if tells_ then return reply_ .. pack('<d', now) .. states_ end
return reply_

note_leases_(allowed_)
return '\1' .. holders_ .. reply_ .. pack('<d', now) .. states_

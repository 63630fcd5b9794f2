// The two views with a run: how each is opened, the part of a link that spares it work, how many events it
// counted, what it says of them, and a place on its graph that a drag can begin at.

import { compare, counts, HEAD, place, sent } from './compare.mjs';
import { events, show, values } from './scope.mjs';

export const views = {
  scope: {
    begin: show,
    light: '',
    count: events,
    told: (page) => values(page, 'rate', 'smoothed', 'allowed', 'refused'),
    grip: (page) => place(page, 400, 180),
  },
  compare: {
    begin: compare,
    light: '&lanes=token-bucket',
    count: sent,
    told: counts,
    grip: (page) => place(page, 400, HEAD + 30),
  },
};

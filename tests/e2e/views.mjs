// The two views with a run: how each is opened, a part of a link that gives it less work, how many events it
// counted, what it says of them, and a place on its graph where a drag can begin.

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

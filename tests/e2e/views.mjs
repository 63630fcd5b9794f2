// The two views with a run: where each is and how it is opened, a part of a link that gives it less work, a click on
// it, how many events it counted, what it says of them, and a place on its graph where a drag can begin.

import { click as clickLanes, compare, counts, HEAD, place, sent } from './compare.mjs';
import { click, events, show, values } from './scope.mjs';

export const views = {
  scope: {
    path: '/',
    begin: show,
    light: '',
    click,
    count: events,
    told: (page) => values(page, 'rate', 'smoothed', 'allowed', 'refused'),
    grip: (page) => place(page, 400, 180),
  },
  compare: {
    path: '/compare.html',
    begin: compare,
    light: '&lanes=token-bucket',
    click: clickLanes,
    count: sent,
    told: counts,
    grip: (page) => place(page, 400, HEAD + 30),
  },
};

// The request that is displaced from a full queue, without a model.

import { expect, it } from 'vitest';
import { LiveRequests, type LiveRequest } from '../../../../src/engine/text/run/live-requests.ts';
import type { TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import { paperSequence } from '../paper-sequence.ts';

const request = (id: string, priority = 0): TextRequest => ({ prompt: { ids: [1] }, id, priority });

function enter(live: LiveRequests, id: string, priority = 0): LiveRequest {
  const entered = live.enter(request(id, priority));
  entered.sequences = [paperSequence([1], 5, { priority })];
  return entered;
}

function open(): LiveRequests {
  return new LiveRequests({ queueTimeout: undefined, totalTimeout: undefined, end: () => {} });
}

it('a full queue gives the place of the last arrival of the lowest priority to a request above it', () => {
  const live = open();
  const [, , second, high] = [enter(live, 'a', 1), enter(live, 'b'), enter(live, 'c'), enter(live, 'd', 2)];
  expect(live.placeFor(request('e'), 5)).toBeNull();
  expect(live.placeFor(request('e', 1), 4)).toBe(second);
  expect(() => live.placeFor(request('e'), 4)).toThrow(expect.objectContaining({ code: 'overloaded' }));
  second.leave();
  expect(live.named('c')).toEqual([]);
  expect(live.named('d')).toEqual([high]);
});

it('a running request does not count as waiting, and one that has begun keeps its place', () => {
  const live = open();
  const [runs, retracted] = [enter(live, 'a'), enter(live, 'b')];
  runs.sequences[0]!.placement.slot = 0;
  retracted.sequences[0]!.placement.prefix.found = { device: 0, host: 0, storage: 0 };
  expect(live.waiting).toBe(1);
  expect(() => live.placeFor(request('c', 9), 1)).toThrow(expect.objectContaining({ code: 'overloaded' }));
});

it('an id is refused while it is in use, and a left request frees it only if it is still its own', () => {
  const live = open();
  const first = enter(live, 'a');
  expect(() => enter(live, 'a')).toThrow(expect.objectContaining({ code: 'bad_request', param: 'id' }));
  first.leave();
  const again = enter(live, 'a');
  first.leave();
  expect(live.named('a')).toEqual([again]);
});

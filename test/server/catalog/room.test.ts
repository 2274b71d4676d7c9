// Which models are closed for the room of another one.

import { expect, it } from 'vitest';
import { type Bounds, type Holder, makeRoom, type Wanted } from '../../../src/server/catalog/room.ts';

interface Named extends Holder {
  name: string;
}

const holder = (name: string, lastUsed: number, more: Partial<Holder> = {}): Named => ({
  ...{ name, memory: 4, isPinned: false, isBusy: false, isClosing: false, lastUsed },
  ...more,
});

const idle = [holder('a', 2), holder('b', 1)];
const busy = { isBusy: true };
const pinned = { isPinned: true };

it.each<[string, Named[], Wanted, Bounds, unknown]>([
  ['fits beside them', idle, { bytes: 2 }, { budget: 10, most: 0 }, { kind: 'open', room: 2 }],
  ['fits nowhere in particular', idle, { bytes: 0 }, { budget: null, most: 0 }, { kind: 'open', room: null }],
  [
    'takes the room of the one that was used least recently',
    idle,
    { bytes: 5 },
    { budget: 10, most: 0 },
    'b',
  ],
  ['takes the room of all', idle, { bytes: 9 }, { budget: 10, most: 0 }, 'b a'],
  ['takes a place', idle, { bytes: 1 }, { budget: null, most: 2 }, 'b'],
  [
    'takes idle ones first',
    [holder('a', 1, busy), holder('b', 2)],
    { bytes: 5 },
    { budget: 10, most: 0 },
    'b',
  ],
  ['waits for busy ones', [holder('a', 1, busy)], { bytes: 8 }, { budget: 10, most: 0 }, 'a*'],
  [
    'waits for what is being closed',
    [holder('a', 1, { isClosing: true }), holder('b', 0)],
    { bytes: 5 },
    { budget: 10, most: 0 },
    'a*',
  ],
  [
    'leaves pinned ones',
    [holder('a', 1, pinned), holder('b', 2)],
    { bytes: 5 },
    { budget: 10, most: 0 },
    'b',
  ],
  [
    'is too large beside pinned ones',
    [holder('a', 1, pinned), holder('b', 2)],
    { bytes: 7 },
    { budget: 10, most: 0 },
    { kind: 'small', room: 6 },
  ],
  [
    'has no place beside pinned ones',
    [holder('a', 1, pinned)],
    { bytes: 1 },
    { budget: null, most: 1 },
    { kind: 'full' },
  ],
  [
    'leaves those whose room does not help',
    [holder('a', 1, { memory: 1 }), holder('b', 2, { memory: 8 })],
    { bytes: 7 },
    { budget: 10, most: 0 },
    'b',
  ],
  ['was refused by the device beside two', idle, { bytes: 0, mostBeside: 1 }, { budget: null, most: 0 }, 'b'],
  [
    'was refused by the device beside one',
    idle,
    { bytes: 0, mostBeside: 2 },
    { budget: null, most: 0 },
    { kind: 'open', room: null },
  ],
])('a model that %s', (_, holders, wanted, bounds, expected) => {
  const room = makeRoom(holders, wanted, bounds);
  if (typeof expected !== 'string') return expect(room).toEqual(expected);
  if (room.kind !== 'close') throw new Error(room.kind);
  const names = [...room.close.map(({ name }) => name), ...room.await.map(({ name }) => `${name}*`)];
  expect(names.join(' ')).toBe(expected);
});

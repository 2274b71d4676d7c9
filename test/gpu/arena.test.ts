import { expect, it } from 'vitest';
import { Arena, assignSlots, type Life } from '../../src/gpu/arena.ts';
import type { DeviceMemory } from '../../src/gpu/memory.ts';
import { Random } from '../kernels/compute.ts';

function randomLives(random: Random): Life[] {
  const dispatches = 1 + random.integer(40);
  return Array.from({ length: 1 + random.integer(60) }, () => {
    const first = random.integer(dispatches);
    const last = Math.min(dispatches, first + random.integer(1 + random.integer(dispatches)));
    return { bytes: 4 * (1 + random.integer(10000)), first, last };
  });
}

const overlap = (a: Life, b: Life): boolean => a.first <= b.last && b.first <= a.last;

/** The largest number of lives at one dispatch, which is a lower bound on the slots. */
function mostAlive(lives: Life[]): number {
  const alive = lives.map(({ first }) => lives.filter((life) => life.first <= first && first <= life.last));
  return Math.max(...alive.map((at) => at.length));
}

it('slots of an arena are not shared by lives that overlap, are large enough, and no more than needed', () => {
  const random = new Random(1);
  for (let round = 0; round < 500; round++) {
    const lives = randomLives(random);
    const slotBytes: number[] = [];
    const slots = assignSlots(lives, slotBytes);
    expect(slots.length).toBe(lives.length);
    lives.forEach((a, i) => {
      if (slotBytes[slots[i]!]! < a.bytes)
        expect.fail(`slot ${slots[i]} holds ${slotBytes[slots[i]!]}, not ${a.bytes}`);
      lives.forEach((b, j) => {
        if (i < j && slots[i] === slots[j] && overlap(a, b))
          expect.fail(`lives ${i} and ${j} share slot ${slots[i]}`);
      });
    });
    expect(slotBytes.length).toBe(mostAlive(lives));
  }
});

it('a second tape shares the slots of the first, which only grow', () => {
  const random = new Random(2);
  for (let round = 0; round < 200; round++) {
    const slotBytes: number[] = [];
    assignSlots(randomLives(random), slotBytes);
    const before = [...slotBytes];
    const lives = randomLives(random);
    const slots = assignSlots(lives, slotBytes);
    before.forEach((bytes, slot) => expect(slotBytes[slot]).toBeGreaterThanOrEqual(bytes));
    expect(slotBytes.length).toBe(Math.max(before.length, mostAlive(lives)));
    expect(slots.every((slot, i) => slotBytes[slot]! >= lives[i]!.bytes)).toBe(true);
  }
});

it('a life takes the slot that fits best, and grows one rather than open another', () => {
  const slotBytes = [1000, 400, 100];
  const at = (bytes: number): Life => ({ bytes, first: 0, last: 0 });
  expect(assignSlots([at(300)], slotBytes)).toEqual([1]);
  expect(assignSlots([at(1200)], slotBytes)).toEqual([0]);
  expect(slotBytes).toEqual([1200, 400, 100]);
  expect(assignSlots([at(100), at(100), at(100), at(100)], slotBytes)).toEqual([2, 1, 0, 3]);
});

it('an arena reads the sizes of its buffers only while slots may have grown', () => {
  let asked = 0;
  const freed: number[] = [];
  const memory = {
    allocate: (_: string, __: string, bytes: number) => ({
      get size() {
        asked++;
        return bytes;
      },
    }),
    free: ({ size }: { size: number }) => void freed.push(size),
  };
  const arena = new Arena(memory as unknown as DeviceMemory);
  arena.assign([{ bytes: 100, first: 0, last: 0 }]);
  arena.settle();
  asked = 0;
  for (let i = 0; i < 3; i++) arena.settle();
  expect(asked).toBe(0);
  arena.assign([{ bytes: 300, first: 0, last: 0 }]);
  arena.settle();
  expect(freed).toEqual([100]);
  expect(arena.buffer(0).size).toBe(300);
});

it('lives that are assigned again after a rewind get the same slots, and no buffer grows', () => {
  const random = new Random(3);
  for (let round = 0; round < 200; round++) {
    let allocations = 0;
    const memory = {
      allocate: (_kind: string, _label: string, bytes: number) => ({ size: bytes, made: ++allocations }),
      free: () => {},
    } as unknown as DeviceMemory;
    const arena = new Arena(memory);
    arena.assign(randomLives(random));
    arena.settle();
    const tapes = Array.from({ length: 4 }, () => randomLives(random));
    const mark = arena.mark();
    const first = tapes.map((lives) => arena.assign(lives));
    arena.settle();
    const before = allocations;
    arena.rewind(mark);
    expect(tapes.map((lives) => arena.assign(lives))).toEqual(first);
    expect(arena.growth()).toBe(0);
    arena.settle();
    expect(allocations).toBe(before);
  }
});

import { expect, it } from 'vitest';
import { Tuning } from '../../src/gpu/tuning.ts';

const SMALL = { rows: 16, columnLanes: 8 };
const TALL = { rows: 24, columnLanes: 8 };
const WIDE = { rows: 16, columnLanes: 16 };

it('Tuning takes the first variant until another is known to be faster, and only where that one is offered', () => {
  const tuning = new Tuning();
  expect(tuning.choose('matmul', [SMALL, TALL])).toBe(SMALL);
  expect([...tuning.unknown]).toEqual(['matmul']);
  tuning.learn({ matmul: { columnLanes: 8, rows: 24 } });
  expect(tuning.unknown.size).toBe(0);
  expect(tuning.choose('matmul', [SMALL, TALL])).toBe(TALL);
  expect(tuning.choose('matmul', [SMALL, WIDE])).toBe(SMALL);
  expect(tuning.choose('conv2d', [SMALL, TALL])).toBe(SMALL);
});

it('Tuning tries place by place, reports its choice, and forgets it even if the run fails', async () => {
  const tuning = new Tuning();
  tuning.learn({ matmul: TALL });
  const chosen = await tuning.trying(2, async (trial) => {
    tuning.choose('matmul', [SMALL, TALL, WIDE]);
    tuning.choose('conv2d', [SMALL, TALL]);
    return { places: trial.places, matmul: trial.chosen('matmul'), conv2d: trial.chosen('conv2d') };
  });
  expect(chosen).toEqual({ places: 3, matmul: WIDE, conv2d: TALL });
  await expect(tuning.trying(0, () => Promise.reject(new Error('full')))).rejects.toThrow('full');
  expect(tuning.choose('matmul', [SMALL, TALL])).toBe(TALL);
});

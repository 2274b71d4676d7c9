// The turn of a compilation in shared memory, with both ends in one thread.

import { expect, it } from 'vitest';
import { STEP_INTERVAL } from '../../../../src/grammar/bounds/compile-work.ts';
import { CompileTurn, takeTurns } from '../../../../src/engine/text/threads/compile-turn.ts';

it('a turn ends after the granted steps, is reported, and goes on with the next grant', () => {
  const turn = new CompileTurn();
  turn.grant(10 * STEP_INTERVAL);
  const reports: number[] = [];
  const goesOn = takeTurns(turn.memory, (steps) => {
    reports.push(steps);
    turn.grant(steps + 5 * STEP_INTERVAL);
  });
  for (let steps = STEP_INTERVAL; steps <= 20 * STEP_INTERVAL; steps += STEP_INTERVAL)
    expect(goesOn(steps)).toBe(true);
  expect(reports).toEqual([10, 15, 20].map((count) => count * STEP_INTERVAL));
});

it('a turn may be taken away at any time, and a stopped compilation waits for no turn', () => {
  const turn = new CompileTurn();
  turn.grant(Infinity);
  const reports: number[] = [];
  const goesOn = takeTurns(turn.memory, (steps) => {
    reports.push(steps);
    turn.stop();
  });
  expect(goesOn(10 * STEP_INTERVAL)).toBe(true);
  turn.grant(0);
  expect(goesOn(11 * STEP_INTERVAL)).toBe(false);
  expect(reports).toEqual([11 * STEP_INTERVAL]);
  expect(goesOn(12 * STEP_INTERVAL)).toBe(false);
});

it('a turn is reported at intervals if nothing ends it', () => {
  const reports: number[] = [];
  const goesOn = takeTurns(null, (steps) => reports.push(steps));
  for (let steps = 1_000_000; steps <= 12_000_000; steps += 1_000_000) expect(goesOn(steps)).toBe(true);
  expect(reports).toEqual([5_000_000, 10_000_000]);
});

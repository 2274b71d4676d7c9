// How many tokens are drafted: as many as pay by the chances that a drafter gives them and by the times of steps.

import { describe, expect, it } from 'vitest';
import type { Proposal } from '../../../../src/engine/text/speculation/drafter.ts';
import { Speculator, type SpeculatedSequence } from '../../../../src/engine/text/speculation/speculator.ts';
import { StepCosts } from '../../../../src/engine/text/speculation/step-costs.ts';

interface Drafted extends SpeculatedSequence {
  proposal: Proposal | null;
}

function sequenceOf(chance: number | null, progress: object = {}): Drafted {
  const ids = [1, 2, 3, 4, 5, 6, 7, 8];
  return {
    request: { speculative: true, isShared: true, predicted: [] },
    progress: {
      ...{ ids: [9], promptTokens: 1, inFlight: 0, isPromptComputed: true, drafted: 0, forced: [] },
      ...progress,
    },
    finished: false,
    mayGrow: true,
    placement: { isLoading: false },
    proposal: chance === null ? null : { ids, chances: ids.map(() => chance) },
  };
}

/** `times`: milliseconds of a step by its rows. */
function speculatorOf(times: (rows: number) => number, { adaptive = true, most = 7 } = {}): Speculator {
  const costs = new StepCosts();
  for (let rows = 1; rows <= 16; rows++)
    for (const isDrafted of [true, false])
      for (let i = 0; i < 4; i++) costs.note(rows, isDrafted, times(rows));
  const drafter = {
    propose: (sequence: object, limit: number): Proposal | null => {
      const { proposal } = sequence as Drafted;
      return proposal && { ids: proposal.ids.slice(0, limit), chances: proposal.chances.slice(0, limit) };
    },
  };
  return new Speculator({ drafter, costs, most, adaptive, rows: 16 });
}

const countsOf = (speculator: Speculator, running: readonly Drafted[]): number[] => {
  const chosen = speculator.choose(running);
  return running.map((sequence) => chosen.get(sequence)?.length ?? 0);
};

/** Rows up to four cost little, as on a CPU's kernels for few rows. */
const steps = (rows: number): number => (rows === 1 ? 10 : rows <= 4 ? 13 : 30);

describe('a speculator', () => {
  it('drafts as many tokens as pay', () => {
    expect(
      countsOf(
        speculatorOf(() => 10),
        [sequenceOf(0.9)],
      ),
    ).toEqual([7]);
    expect(countsOf(speculatorOf(steps), [sequenceOf(0.9)])).toEqual([3]);
    expect(
      countsOf(
        speculatorOf((rows) => 10 * rows),
        [sequenceOf(0.9)],
      ),
    ).toEqual([0]);
    expect(countsOf(speculatorOf(steps), [sequenceOf(0.05)])).toEqual([0]);
    expect(countsOf(speculatorOf(steps), [sequenceOf(null)])).toEqual([0]);
  });

  it('drafts the likeliest tokens of all sequences, and none where the step is full or costs too much', () => {
    const speculator = speculatorOf(steps);
    expect(countsOf(speculator, [sequenceOf(0.9), sequenceOf(0.2)])).toEqual([2, 0]);
    const four = (chance: number): Drafted[] => [1, 2, 3, 4].map(() => sequenceOf(chance));
    expect(countsOf(speculator, four(0.9))).toEqual([3, 3, 3, 3]);
    expect(countsOf(speculator, four(0.3))).toEqual([0, 0, 0, 0]);
    const many = Array.from({ length: 16 }, () => sequenceOf(1));
    expect(
      countsOf(
        speculatorOf(() => 10),
        many,
      ),
    ).toEqual(many.map(() => 0));
  });

  it('drafts nothing beside prompts, and what a constraint prescribes at any cost', () => {
    const speculator = speculatorOf(() => 10);
    expect(countsOf(speculator, [sequenceOf(0.9), sequenceOf(0.9, { isPromptComputed: false })])).toEqual([
      0, 0,
    ]);
    const off = sequenceOf(0.9, { forced: [5, 6, 7, 8] });
    const silent = { ...off, request: { ...off.request, speculative: false } };
    expect(speculator.choose([off]).get(off)).toEqual([5, 6, 7]);
    expect(speculator.choose([silent]).size).toBe(0);
  });

  it('waits for tokens only where drafts after them pay', () => {
    const paying = speculatorOf(() => 10);
    expect(paying.waits([sequenceOf(0.9, { inFlight: 1 })])).toBe(true);
    expect(paying.waits([sequenceOf(0.1, { inFlight: 1 }), sequenceOf(0.1, { inFlight: 1 })])).toBe(false);
    expect(paying.waits([sequenceOf(0.9)])).toBe(false);
    expect(speculatorOf((rows) => 10 * rows).waits([sequenceOf(0.9, { inFlight: 1 })])).toBe(false);
    expect(paying.waits([sequenceOf(null, { drafted: 2 })])).toBe(true);
    expect(paying.choose([sequenceOf(0.9, { inFlight: 1 })]).size).toBe(0);
  });

  it('drafts whatever it costs if it does not adapt', () => {
    const speculator = speculatorOf((rows) => 10 * rows, { adaptive: false, most: 5 });
    expect(countsOf(speculator, [sequenceOf(0.01), sequenceOf(0.01), sequenceOf(0.01)])).toEqual([5, 5, 3]);
  });

  it('measures a step without drafts now and then, where they gain little', () => {
    const speculator = speculatorOf(steps);
    const sequence = sequenceOf(0.3);
    const counts = Array.from({ length: 120 }, () => countsOf(speculator, [sequence])[0]);
    expect(counts.filter((count) => count === 0)).toHaveLength(2);
    const clear = speculatorOf(() => 10);
    expect(Array.from({ length: 120 }, () => countsOf(clear, [sequenceOf(0.9)])[0])).not.toContain(0);
  });
});

describe('costs of steps', () => {
  it('are what was measured last, whatever compiled or paused in one of them', () => {
    const costs = new StepCosts();
    for (const ms of [900, 10, 10, 10]) costs.note(1, false, ms);
    expect(costs.of(1, false)).toBe(10);
    costs.note(1, false, 5000);
    expect(costs.of(1, false)).toBeLessThan(13);
    for (let i = 0; i < 30; i++) costs.note(1, false, 20);
    expect(costs.of(1, false)).toBeCloseTo(20, 0);
  });

  it('follow the nearest size where nothing was measured, and forget drafts that were not tried for long', () => {
    const costs = new StepCosts();
    for (const ms of [0, 10, 10]) costs.note(4, true, ms);
    expect(costs.of(5, true)).toBeGreaterThan(10);
    expect(costs.of(5, true)).toBeLessThan(11);
    for (let i = 0; i < 600; i++) costs.note(1, false, 2);
    expect(costs.of(4, true)).toBeLessThan(3);
  });
});

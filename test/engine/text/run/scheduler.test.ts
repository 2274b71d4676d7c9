// The scheduler alone, step by step, against its invariants.

import assert from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import { pagesFor } from '../../../../src/engine/text/kv/pages.ts';
import { Scheduler } from '../../../../src/engine/text/run/scheduler.ts';
import type { PlannedPart } from '../../../../src/engine/text/run/step-plan.ts';
import type { Sequence } from '../../../../src/engine/text/run/sequence.ts';
import { PAGE_TOKENS } from '../../../../src/kernels/batch.ts';
import { randomInteger } from '../../random.ts';
import { paperSequence } from '../paper-sequence.ts';

const LIMITS = { pages: 12, slots: 4, rows: 48 };

let prompts = 0;

/** Adds a sequence whose prompt shares no prefix with another. */
function add(scheduler: Scheduler, promptTokens: number, maxTokens: number, priority = 0): Sequence {
  const first = 1000 * ++prompts;
  const sequence = paperSequence(
    Array.from({ length: promptTokens }, (_, i) => first + i),
    maxTokens,
    { priority },
  );
  scheduler.add(sequence);
  return sequence;
}

/** Simulates the device's answer to a step: a token for each part that samples one. */
function answer(scheduler: Scheduler, parts: readonly PlannedPart[]): void {
  for (const { sequence, samples } of parts) {
    if (!samples) continue;
    sequence.progress.inFlight--;
    if (!sequence.finished) sequence.acceptToken(7);
  }
  scheduler.sweep();
}

function distinct(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length;
}

function checkInvariants(scheduler: Scheduler, limits = LIMITS): void {
  const { running, waiting, pages } = scheduler;
  const placements = running.map(({ placement }) => placement);
  const own = placements.flatMap(({ tables, passedPages, prefix }) =>
    tables.flatMap((held, group) => held.slice(Math.max(prefix.nodes.length, passedPages[group]!))),
  );
  const shared = placements.flatMap(({ passedPages, prefix: { nodes } }) =>
    passedPages.flatMap((passed, group) => nodes.slice(passed).map((node) => node.pages[group]!.page!)),
  );
  assert(distinct(own), 'a page is owned twice');
  assert(own.every((page) => page >= 0 && page < limits.pages && !shared.includes(page)));
  assert.equal(pages.available, limits.pages - own.length - new Set(shared).size, 'pages are lost');
  for (const { tables, passedPages, prefix } of placements)
    tables.forEach((held, group) =>
      assert.deepEqual(
        held.slice(passedPages[group], prefix.nodes.length),
        prefix.nodes.slice(passedPages[group]).map((node) => node.pages[group]!.page),
      ),
    );
  const slots = running.map(({ placement }) => placement.slot);
  assert(distinct(slots), 'a slot is owned twice');
  assert(slots.every((slot) => slot !== null && slot >= 0 && slot < limits.slots));
  assert(distinct([...running, ...waiting]));
  for (const { placement, progress } of waiting)
    assert.deepEqual(
      [placement.slot, placement.tables, progress.computed],
      [null, [], 0],
      'a waiting sequence holds something',
    );
  for (const { placement, progress } of running) assert(placement.length >= pagesFor(progress.computed));
}

function checkStep(parts: readonly PlannedPart[], before: ReadonlyMap<Sequence, number>, rows: number): void {
  assert(parts.reduce((sum, part) => sum + part.rows, 0) <= rows);
  assert(distinct(parts.map(({ sequence }) => sequence)));
  for (const { sequence, first, rows: count } of parts) {
    assert(count > 0);
    assert(
      first === before.get(sequence) || first <= sequence.placement.prefix.nodes.length * PAGE_TOKENS,
      'positions are skipped or computed twice',
    );
    assert(sequence.placement.length >= pagesFor(first + count));
    const { expectedLength, promptTokens } = sequence.progress;
    assert(expectedLength - promptTokens <= sequence.request.maxTokens);
  }
}

describe('random requests on few pages, with aborts at any moment', () => {
  it.each([
    ...[1, 2, 3, 4, 5].map((seed) => ({ seed, limits: LIMITS })),
    ...[6, 7].map((seed) => ({
      seed,
      limits: { ...LIMITS, pages: 2 * LIMITS.pages, windows: [null, 24, 50] },
    })),
    { seed: 8, limits: { ...LIMITS, copies: 3 } },
  ])('%j', ({ seed, limits }) => {
    const random = randomInteger(seed);
    const scheduler = new Scheduler(limits);
    const all: Sequence[] = [];
    const admitted: Sequence[] = [];
    const submitted: PlannedPart[][] = [];
    const busy = () => submitted.length + scheduler.running.length + scheduler.waiting.length > 0;
    for (let round = 0; all.length < 60 || busy(); round++) {
      assert(round < 20_000, 'no end');
      if (all.length < 60 && random(3) === 0) all.push(add(scheduler, 1 + random(200), 1 + random(150)));
      if (random(60) === 0 && all.length > 0) {
        all[random(all.length)]!.finish('abort', null);
        scheduler.sweep();
        checkInvariants(scheduler, limits);
      }
      const before = new Map(all.map((sequence) => [sequence, sequence.progress.computed]));
      const parts = submitted.length < 2 ? scheduler.plan() : [];
      checkInvariants(scheduler, limits);
      checkStep(parts, before, limits.rows);
      for (const sequence of scheduler.running) if (!admitted.includes(sequence)) admitted.push(sequence);
      if (parts.length > 0) submitted.push(parts);
      if (submitted.length === 2 || parts.length === 0 || random(3) === 0)
        answer(scheduler, submitted.shift() ?? []);
    }
    const { retractions } = scheduler;
    expect(retractions).toBeGreaterThan(0);
    expect(scheduler.pages.available).toBe(limits.pages);
    expect(scheduler.waiting).toEqual([]);
    for (const sequence of all) {
      expect(sequence.finished).toBe(true);
      expect(sequence.progress.generated).toBeLessThanOrEqual(sequence.request.maxTokens);
    }
    // No prefixes are shared, so sequences were admitted in order of arrival.
    expect(admitted.map((sequence) => all.indexOf(sequence))).toEqual(
      admitted.map((sequence) => all.indexOf(sequence)).sort((a, b) => a - b),
    );
  });
});

describe('a planned step', () => {
  it('decodes every running sequence before it takes up prompts, oldest first', () => {
    const scheduler = new Scheduler({ pages: 64, slots: 4, rows: 40 });
    const [a, b] = [add(scheduler, 8, 50), add(scheduler, 8, 50)];
    answer(scheduler, scheduler.plan());
    const [c, d] = [add(scheduler, 60, 50), add(scheduler, 60, 50)];
    const shape = (parts: PlannedPart[]) =>
      parts.map(({ sequence, first, rows, samples }) => [
        [a, b, c, d].indexOf(sequence),
        first,
        rows,
        samples,
      ]);
    expect(shape(scheduler.plan())).toEqual([
      [0, 8, 1, true],
      [1, 8, 1, true],
      [2, 0, 38, false],
    ]);
    expect(shape(scheduler.plan())).toEqual([
      [0, 9, 1, true],
      [1, 9, 1, true],
      [2, 38, 22, true],
      [3, 0, 16, false],
    ]);
  });

  it('takes up tokens that follow by themselves as the tile has room, and at least one of each sequence', () => {
    const scheduler = new Scheduler({ pages: 40, slots: 16, rows: 64 });
    const sequences = Array.from({ length: 16 }, () => add(scheduler, 3, 50));
    answer(scheduler, scheduler.plan());
    // Two sequences resume with three tokens more than the one that was sampled.
    const forced = [sequences[4]!, sequences[9]!];
    for (const sequence of forced) for (let i = 0; i < 3; i++) sequence.acceptToken(7);
    const rowsOf = (parts: readonly PlannedPart[], sequence: Sequence): number =>
      parts.find((part) => part.sequence === sequence)!.rows;
    for (let step = 0; step < 4; step++) {
      const parts = scheduler.plan();
      expect(parts.map(({ rows }) => rows)).toEqual(Array(16).fill(1));
      answer(scheduler, parts);
    }
    for (const sequence of sequences.slice(10)) sequence.finish('stop', null);
    scheduler.sweep();
    for (const sequence of forced) for (let i = 0; i < 5; i++) sequence.acceptToken(7);
    const parts = scheduler.plan();
    expect(forced.map((sequence) => rowsOf(parts, sequence))).toEqual([6, 2]);
    expect(parts.reduce((sum, { rows }) => sum + rows, 0)).toBe(16);
  });

  it('asks for no token beyond the most a request may have, though tokens are on their way', () => {
    const scheduler = new Scheduler(LIMITS);
    add(scheduler, 4, 2);
    const steps = [scheduler.plan(), scheduler.plan(), scheduler.plan()];
    expect(steps.map((parts) => parts.length)).toEqual([1, 1, 0]);
    steps.forEach((parts) => answer(scheduler, parts));
    expect(scheduler.running).toEqual([]);
  });

  it('leaves a sequence waiting while its pages are missing, and lets no younger one pass', () => {
    const scheduler = new Scheduler(LIMITS);
    const long = add(scheduler, PAGE_TOKENS * 8, 4);
    const large = add(scheduler, PAGE_TOKENS * 12 - 2, 1);
    const small = add(scheduler, 3, 1);
    for (let step = 0; step < 6; step++) answer(scheduler, scheduler.plan());
    expect(scheduler.running).toEqual([long]);
    expect(scheduler.waiting).toEqual([large, small]);
  });
});

describe('the scheduler out of pages', () => {
  it('takes them from the youngest sequence, which is the next to run', () => {
    const scheduler = new Scheduler({ pages: 6, slots: 4, rows: 256 });
    const sequences = [0, 1, 2].map(() => add(scheduler, PAGE_TOKENS * 2 - 2, 40));
    const later = add(scheduler, 4, 4);
    while (scheduler.retractions === 0) answer(scheduler, scheduler.plan());
    expect(scheduler.running).toEqual(sequences.slice(0, 2));
    expect(scheduler.waiting).toEqual([sequences[2], later]);
    const kept = sequences[2]!.progress.ids.length;
    while (scheduler.running.length + scheduler.waiting.length > 0) answer(scheduler, scheduler.plan());
    expect(sequences[2]!.progress.ids.length).toBeGreaterThan(kept);
    expect(sequences.every((sequence) => sequence.progress.generated === 40)).toBe(true);
  });

  it('resumes a retracted sequence only when its last token has arrived', () => {
    const scheduler = new Scheduler({ pages: 4, slots: 2, rows: 256 });
    const [old, young] = [add(scheduler, PAGE_TOKENS * 2 - 1, 60), add(scheduler, PAGE_TOKENS * 2 - 1, 60)];
    const first = scheduler.plan();
    const second = scheduler.plan();
    answer(scheduler, first);
    const third = scheduler.plan();
    expect(third.map(({ sequence }) => sequence)).toEqual([old]);
    expect(young.placement.slot).toBeNull();
    expect(young.progress.inFlight).toBe(1);
    answer(scheduler, second);
    expect(young.progress).toMatchObject({ inFlight: 0, computed: 0 });
    answer(scheduler, third);
  });
});

it('a restart of the scheduler makes all sequences wait again, in order, nothing in flight', () => {
  const scheduler = new Scheduler(LIMITS);
  const sequences = [5, 40, 7, 9, 3].map((length) => add(scheduler, length, 9));
  answer(scheduler, scheduler.plan());
  scheduler.plan();
  scheduler.restart();
  expect(scheduler.running).toEqual([]);
  expect(scheduler.waiting).toEqual(sequences);
  expect(sequences.every(({ progress }) => progress.inFlight === 0 && progress.computed === 0)).toBe(true);
  checkInvariants(scheduler);
  for (let step = 0; step < 100; step++) answer(scheduler, scheduler.plan());
  expect(sequences.every(({ finished }) => finished)).toBe(true);
});

it('no choice copies from a page of a sibling that is still to be loaded', () => {
  const scheduler = new Scheduler({ pages: 8, slots: 4, rows: 64 });
  const prompt = Array.from({ length: 20 }, (_, i) => i);
  const leader = paperSequence(prompt, 100);
  scheduler.add(leader);
  while (leader.progress.ids.length < 70) {
    scheduler.plan();
    leader.progress.ids.push(leader.progress.ids.length);
    leader.progress.inFlight--;
  }
  scheduler.plan();
  expect(leader.placement.prefix.nodes.length).toBe(2);
  for (const { pages } of leader.placement.prefix.nodes)
    scheduler.pages.tree.keep(pages[0]!, new Uint8Array(4));
  scheduler.restart();
  scheduler.add(paperSequence(prompt, 5, { seed: 1, leader }));
  scheduler.plan();
  const { copies, loads } = scheduler.takeMoves()!;
  expect(loads.length).toBe(2);
  expect(copies.filter(({ from }) => loads.some(({ page }) => page === from))).toEqual([]);
});

// Steps with drafts on a fake device: whatever is drafted, each request's tokens are those that it has without drafts.

import { describe, expect, it } from 'vitest';
import type { SchedulerLimits } from '../../../../src/engine/text/run/scheduler.ts';
import type { Recorder } from '../../../../src/engine/text/run/recorder.ts';
import type { Drafter, DraftSource } from '../../../../src/engine/text/speculation/drafter.ts';
import { Speculator } from '../../../../src/engine/text/speculation/speculator.ts';
import { StepCosts } from '../../../../src/engine/text/speculation/step-costs.ts';
import { randomInteger } from '../../random.ts';
import { constrainedTokens, paperConstraint, type PaperRule } from '../paper-constraint.ts';
import { allFinished, createPaperEngine } from '../paper-engine.ts';
import { paperTokens } from '../paper-runner.ts';
import { generated, paperSequence, promptOf, type PaperSequence } from '../paper-sequence.ts';

/** Runs of 40 random requests each; more of them than in a test run find what is rare. */
const SEEDS = Number(process.env['SVC_DRAFT_SEEDS'] ?? 2);

/** What a sequence generates without drafts. */
type Truth = (sequence: PaperSequence, count: number) => number[];

/** Proposes what the sequence will generate, with a wrong token now and then. */
function oracle(truth: Truth, random: (below: number) => number): Drafter {
  return {
    propose(source: DraftSource, most: number) {
      const sequence = source as unknown as PaperSequence;
      const done = sequence.progress.generated;
      const ids = truth(sequence, done + most)
        .slice(done)
        .map((id) => (random(6) === 0 ? random(250) : id))
        .slice(0, random(most + 1));
      return { ids, chances: ids.map(() => 0.8) };
    },
  };
}

interface Run {
  limits: SchedulerLimits;
  seed: number;
  adaptive?: boolean;
  count: number;
  make(random: (below: number) => number): PaperSequence;
  truth: Truth;
}

async function run({ limits, seed, adaptive = false, count, make, truth }: Run) {
  const random = randomInteger(seed);
  const drafter = oracle(truth, randomInteger(seed + 1000));
  const speculator = new Speculator({ drafter, costs: new StepCosts(), most: 7, adaptive, rows: 16 });
  const engine = createPaperEngine(limits, random, {}, speculator);
  const all: PaperSequence[] = [];
  for (let i = 0; i < count; i++) {
    all.push(engine.start(make(random)));
    for (let turn = random(40); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
    if (random(8) === 0) engine.loop.abort([all[random(all.length)]!]);
  }
  await allFinished(all);
  let whole = 0;
  for (const sequence of all) {
    const ids = generated(sequence);
    expect(ids).toEqual(truth(sequence, ids.length));
    const end = sequence.events.at(-1)!;
    expect(end).not.toHaveProperty('error');
    if (end.type === 'done' && end.finishReason === 'length') {
      expect(ids).toHaveLength(sequence.request.maxTokens);
      whole++;
    }
  }
  expect(whole).toBeGreaterThan(count / 3);
  expect(engine.scheduler.running).toEqual([]);
  expect(engine.scheduler.pages.available).toBe(limits.pages);
  return { engine, counters: speculator.counters };
}

const free: Truth = (sequence, count) =>
  paperTokens(promptOf(sequence), count, sequence.request.sampling.seedLow);

function randomPrompt(random: (below: number) => number, most: number): number[] {
  return Array.from({ length: 1 + random(most) }, () => random(250));
}

const freeSequence = (random: (below: number) => number): PaperSequence =>
  paperSequence(randomPrompt(random, 100), 1 + random(90), { seed: random(1000) });

/** With it, tokens that a constraint prescribes need forward passes of their own. */
const STATES_WANTED = {
  wantsStates: true,
  promptTop: null,
  takePrompt: () => undefined,
  doneMembers: () => ({}),
} as unknown as Recorder;

const LIMITS = { pages: 14, slots: 5, rows: 32 };
const FEW = { ...LIMITS, pages: 8 };

describe('tokens with drafts are those without', () => {
  it.each([
    ['with few pages', FEW],
    ['alone', { ...LIMITS, slots: 1 }],
    ['in steps of one phase', { ...LIMITS, decodeRows: 16 }],
    ['with windows', { ...LIMITS, pages: 40, windows: [null, 40] }],
    ['with fixed states', { ...LIMITS, copies: 4 }],
  ] as const)('%s', async (_, limits) => {
    let retractions = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { engine, counters } = await run({ limits, seed, count: 40, make: freeSequence, truth: free });
      retractions += engine.scheduler.retractions;
      expect(counters.proposed).toBeGreaterThan(counters.accepted);
      expect(counters.accepted).toBeGreaterThan(counters.drafts);
    }
    if (limits === FEW) expect(retractions).toBeGreaterThan(0);
  });

  it.each(Array.from({ length: SEEDS }, (_, i) => i + 1))(
    'with constraints, whose prescribed tokens are drafted where each needs its own row: seed %d',
    async (seed) => {
      const rules = new WeakMap<object, PaperRule>();
      const make = (random: (below: number) => number): PaperSequence => {
        const rule = { seed: random(1000), forcedIn: 3, freeAfter: random(2) === 0 ? 30 : Infinity };
        const sequence = paperSequence(randomPrompt(random, 60), 1 + random(60), {
          seed: random(1000),
          constraint: paperConstraint(rule),
          recorder: random(2) === 0 ? STATES_WANTED : null,
        });
        rules.set(sequence, rule);
        return sequence;
      };
      const truth: Truth = (sequence, count) =>
        constrainedTokens(promptOf(sequence), count, sequence.request.sampling.seedLow, rules.get(sequence)!);
      const { counters } = await run({ limits: { ...LIMITS, pages: 20 }, seed, count: 40, make, truth });
      expect(counters.accepted).toBeGreaterThan(20);
    },
  );
});

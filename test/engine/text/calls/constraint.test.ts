// Constraints in the loop: the allowed tokens depend on tokens that the device computes, and in all circumstances each sequence
// gets the tokens that it would get alone.

import { describe, expect, it } from 'vitest';
import { EngineLoop } from '../../../../src/engine/text/run/loop.ts';
import type { Recorder } from '../../../../src/engine/text/run/recorder.ts';
import { Scheduler } from '../../../../src/engine/text/run/scheduler.ts';
import { randomInteger } from '../../random.ts';
import { constrainedTokens, paperConstraint, type PaperRule } from '../paper-constraint.ts';
import { createPaperRunner, paperTokens } from '../paper-runner.ts';
import { generated, paperSequence, promptOf, type PaperSequence } from '../paper-sequence.ts';

async function until(check: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!check()) {
    if (performance.now() > deadline) throw new Error('it never came to that');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function createEngine(limits: { pages: number; slots: number; rows: number }, random = randomInteger(0)) {
  const pause = async (): Promise<void> => {
    for (let turn = random(3); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
  };
  const scheduler = new Scheduler(limits);
  const open = () => createPaperRunner({ ...limits, pause });
  let runner = open();
  const loop = new EngineLoop({ scheduler, runner, restart: async () => (runner = open()) });
  return {
    scheduler,
    loop,
    steps: () => runner.steps,
    loseDevice(): void {
      runner.broken = new Error('gone');
      Object.assign(runner.device, { loss: async () => 'as the test has it' });
    },
    start(sequence: PaperSequence): PaperSequence {
      sequence.acceptForced();
      if (!sequence.finished) scheduler.add(sequence);
      loop.wake();
      return sequence;
    },
  };
}

function constrained(prompt: number[], maxTokens: number, seed: number, rule: PaperRule): PaperSequence {
  return paperSequence(prompt, maxTokens, { seed, constraint: paperConstraint(rule) });
}

describe('tokens of a constrained request are those of the request alone', () => {
  it.each([1, 2, 3, 4, 5, 6])(
    'with aborts, few pages, others beside it and a lost device: seed %d',
    async (seed) => {
      const random = randomInteger(seed);
      const engine = createEngine({ pages: 9, slots: 5, rows: 32 }, random);
      const all: { sequence: PaperSequence; rule: PaperRule | null }[] = [];
      for (let i = 0; i < 40; i++) {
        const prompt = Array.from({ length: 1 + random(100) }, () => random(250));
        const rule =
          random(3) === 0
            ? null
            : { seed: random(1000), forcedIn: 1 + random(6), ...(i % 4 === 0 && { freeAfter: random(60) }) };
        const [length, own] = [1 + random(100), random(1000)];
        const sequence = rule
          ? constrained(prompt, length, own, rule)
          : paperSequence(prompt, length, { seed: own });
        all.push({ sequence, rule });
        engine.start(sequence);
        for (let turn = random(40); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
        if (random(6) === 0) engine.loop.abort([all[random(all.length)]!.sequence]);
        if (i === 20) engine.loseDevice();
      }
      await until(() => all.every(({ sequence }) => sequence.finished));
      let whole = 0;
      for (const { sequence, rule } of all) {
        expect(sequence.events.at(-1)).not.toHaveProperty('error');
        const ids = generated(sequence);
        const prompt = promptOf(sequence);
        const { seedLow } = sequence.request.sampling;
        const wanted = rule
          ? constrainedTokens(prompt, ids.length, seedLow, rule)
          : paperTokens(prompt, ids.length, seedLow);
        expect(ids).toEqual(wanted);
        const told = sequence.events.flatMap((event) => (event.type === 'delta' ? event.ids : []));
        expect(told).toEqual(ids);
        if (ids.length === sequence.request.maxTokens) whole++;
      }
      expect(whole).toBeGreaterThan(15);
      expect(engine.scheduler.retractions).toBeGreaterThan(0);
      expect(engine.loop.counters.deviceRestarts).toBe(1);
      expect(engine.scheduler.running).toEqual([]);
    },
  );
});

it('the engine submits the next forward pass before the token that its mask needs has come back', async () => {
  let release = (): void => {};
  const limits = { pages: 4, slots: 2, rows: 32 };
  const scheduler = new Scheduler(limits);
  const runner = createPaperRunner({ ...limits, pause: () => new Promise((resolve) => (release = resolve)) });
  const loop = new EngineLoop({ scheduler, runner, restart: () => Promise.resolve(runner) });
  const sequence = constrained([1, 2, 3], 6, 4, { seed: 9, forcedIn: 1000 });
  scheduler.add(sequence);
  loop.wake();
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(runner.steps.map((parts) => parts.map(({ first, rows }) => [first, rows]))).toEqual([
    [[0, 3]],
    [[3, 1]],
  ]);
  expect(generated(sequence)).toEqual([]);
  while (!sequence.finished) {
    release();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect(generated(sequence)).toEqual(constrainedTokens([1, 2, 3], 6, 4, { seed: 9, forcedIn: 1000 }));
});

it('a constraint that has ended leaves the masks of other requests where they are', async () => {
  const engine = createEngine({ pages: 12, slots: 4, rows: 32 });
  const rules = [3, 8, undefined].map((freeAfter, i) => ({
    seed: 20 + i,
    forcedIn: 1000,
    ...(freeAfter !== undefined && { freeAfter }),
  }));
  const all = rules.map((rule, i) => engine.start(constrained([i], 20, 4, rule)));
  await until(() => all.every(({ finished }) => finished));
  for (const [i, rule] of rules.entries()) {
    expect(all[i]!.events.at(-1)).not.toHaveProperty('error');
    expect(generated(all[i]!)).toEqual(constrainedTokens([i], 20, 4, rule));
    expect(all[i]!.constraint === null).toBe('freeAfter' in rule);
  }
});

it('runs of tokens that must follow take one forward pass together', async () => {
  const rule = { seed: 3, forcedIn: 1 };
  const engine = createEngine({ pages: 8, slots: 2, rows: 32 });
  const sequence = engine.start(constrained([1, 2, 3], 40, 4, rule));
  await until(() => sequence.finished);
  expect(generated(sequence)).toEqual(constrainedTokens([1, 2, 3], 40, 4, rule));
  // The whole text is forced, so that it is known without a step.
  expect(engine.steps()).toEqual([]);

  const mixed = { seed: 8, forcedIn: 2 };
  const other = engine.start(constrained([5], 60, 4, mixed));
  await until(() => other.finished);
  expect(generated(other)).toEqual(constrainedTokens([5], 60, 4, mixed));
  expect(engine.steps().length).toBeLessThan(55);
});

it('each token has a pass of its own if the request asks for its state', async () => {
  const rule = { seed: 3, forcedIn: 1 };
  const engine = createEngine({ pages: 8, slots: 2, rows: 32 });
  const recorder: Recorder = {
    wantsStates: true,
    wantsRoutes: false,
    state: () => {},
    route: () => {},
    routeAt: () => undefined,
    promptTop: null,
    prompt: () => {},
    takePrompt: () => undefined,
    doneMembers: () => ({}),
  };
  const sequence = paperSequence([1, 2, 3], 10, { seed: 4, constraint: paperConstraint(rule), recorder });
  engine.start(sequence);
  await until(() => sequence.finished);
  expect(generated(sequence)).toEqual(constrainedTokens([1, 2, 3], 10, 4, rule));
  expect(engine.steps().length).toBeGreaterThanOrEqual(generated(sequence).length);
});

it('a constrained reply ends where only an end token is left', async () => {
  const engine = createEngine({ pages: 8, slots: 2, rows: 32 });
  const rule = { seed: 8, forcedIn: 5, length: 9 };
  const sequence = constrained([5], 60, 4, rule);
  engine.start(sequence);
  const withEnd = constrained([5], 60, 4, { ...rule, seed: 9 });
  withEnd.request.stopIds = new Set([249]);
  const constraint = withEnd.constraint!;
  withEnd.constraint = {
    ...constraint,
    accept: (id) => id === 249 || constraint.accept(id),
    get ended() {
      return constraint.ended;
    },
  };
  engine.start(withEnd);
  await until(() => sequence.finished && withEnd.finished);
  expect(generated(sequence)).toHaveLength(9);
  expect(sequence.events.at(-1)).toMatchObject({ finishReason: 'stop', matchedStop: null });
  expect(withEnd.events.at(-1)).toMatchObject({ finishReason: 'stop', matchedStop: 249 });
});

describe('an error of a constraint fails its sequence, and no other', () => {
  it.each([
    [
      'its constraint allows nothing',
      () => ({ mask: (into: Uint32Array) => !!into.fill(0) }),
      'no token is left',
    ],
    [
      'its constraint breaks',
      () => ({
        mask: () => {
          throw new Error('broken inside');
        },
      }),
      'broken inside',
    ],
  ])('if %s', async (_, broken, message) => {
    const engine = createEngine({ pages: 8, slots: 2, rows: 32 });
    const good = engine.start(constrained([5], 30, 4, { seed: 1, forcedIn: 4 }));
    const bad = paperSequence([6], 30);
    bad.constraint = { ...paperConstraint({ seed: 1, forcedIn: 1000 }), ...broken() };
    engine.start(bad);
    await until(() => good.finished && bad.finished);
    expect(bad.events.at(-1)).toMatchObject({
      finishReason: 'abort',
      error: { message: expect.stringContaining(message) as string },
    });
    expect(generated(good)).toEqual(constrainedTokens([5], 30, 4, { seed: 1, forcedIn: 4 }));
  });
});

describe('the mask of a constrained request', () => {
  const bits = (sequence: PaperSequence): number[] => {
    const into = new Uint32Array(2);
    sequence.writeMask(into);
    return Array.from({ length: 64 }, (_, id) => id).filter((id) => (into[id >> 5]! >>> (id & 31)) & 1);
  };
  const allowing = (ids: number[]): Uint32Array => {
    const words = new Uint32Array(2);
    for (const id of ids) words[id >> 5]! |= 1 << (id & 31);
    return words;
  };
  const only = (ids: number[]) => ({
    ...paperConstraint({ seed: 0, forcedIn: 1000 }),
    mask: (into: Uint32Array) => (into.set(allowing(ids)), true),
  });

  it('is what constraint and processors both allow', () => {
    const sequence = paperSequence([1], 5);
    sequence.constraint = only([3, 31, 32, 63]);
    sequence.request.allowed = allowing([3, 4, 32]);
    expect(bits(sequence)).toEqual([3, 32]);
    sequence.constraint = null;
    expect(bits(sequence)).toEqual([3, 4, 32]);
  });

  it('excludes end tokens below minTokens, unless nothing else is left', () => {
    const sequence = paperSequence([1], 5, { stopIds: [31, 63] });
    sequence.request.minTokens = 2;
    sequence.constraint = only([3, 31, 63]);
    expect(bits(sequence)).toEqual([3]);
    sequence.constraint = only([31, 63]);
    expect(bits(sequence)).toEqual([31, 63]);
    sequence.constraint = only([3, 31]);
    sequence.progress.ids.push(8, 9);
    expect(bits(sequence)).toEqual([3, 31]);
  });
});

// Loop, scheduler and step writer together, on a fake device: whatever happens to a request, its tokens are those it would have had
// alone.

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { EngineLoop } from '../../../../src/engine/text/run/loop.ts';
import type { Recorder } from '../../../../src/engine/text/run/recorder.ts';
import { Scheduler } from '../../../../src/engine/text/run/scheduler.ts';
import { plainOutput } from '../../../../src/engine/text/calls/output-parser.ts';
import { EngineError } from '../../../../src/files/error.ts';
import { randomInteger } from '../../random.ts';
import { allFinished, createPaperEngine, until } from '../paper-engine.ts';
import { paperConstraint } from '../paper-constraint.ts';
import { createPaperRunner, paperTokens } from '../paper-runner.ts';
import { generated, paperSequence, promptOf, type PaperSequence } from '../paper-sequence.ts';

function randomPrompt(random: (below: number) => number, most: number): number[] {
  return Array.from({ length: 1 + random(most) }, () => random(250));
}

describe('tokens of the engine loop are those of each request alone', () => {
  it.each([1, 2, 3, 4])('with random requests, aborts and few pages: seed %d', async (seed) => {
    const random = randomInteger(seed);
    const engine = createPaperEngine({ pages: 14, slots: 5, rows: 32 }, random);
    const all: PaperSequence[] = [];
    for (let i = 0; i < 50; i++) {
      const sequence = paperSequence(randomPrompt(random, 150), 1 + random(120), { seed: random(1000) });
      all.push(engine.start(sequence));
      for (let turn = random(40); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
      if (random(6) === 0) engine.loop.abort([all[random(all.length)]!]);
    }
    await allFinished(all);
    let whole = 0;
    for (const sequence of all) {
      const ids = generated(sequence);
      const { seedLow } = sequence.request.sampling;
      expect(ids).toEqual(paperTokens(promptOf(sequence), ids.length, seedLow));
      const end = sequence.events.at(-1)!;
      expect(end).toMatchObject({ type: 'done', completionTokens: ids.length });
      expect(end).not.toHaveProperty('error');
      if (end.type === 'done' && end.finishReason === 'length') {
        expect(ids).toHaveLength(sequence.request.maxTokens);
        whole++;
      }
    }
    expect(whole).toBeGreaterThan(25);
    expect(engine.scheduler.retractions).toBeGreaterThan(0);
    expect(engine.loop.counters.sharedSteps).toBeGreaterThan(20);
    expect(engine.scheduler.pages.available).toBe(14);
    expect(engine.scheduler.running).toEqual([]);
  });
});

it('the engine loop submits the next step before the tokens of the last have come back', async () => {
  let release = (): void => {};
  const limits = { pages: 4, slots: 2, rows: 32 };
  const scheduler = new Scheduler(limits);
  const runner = createPaperRunner({ ...limits, pause: () => new Promise((resolve) => (release = resolve)) });
  const loop = new EngineLoop({ scheduler, runner, restart: () => Promise.resolve(runner) });
  const sequence = paperSequence([1, 2, 3], 4);
  scheduler.add(sequence);
  loop.wake();
  await sleep(5);
  expect(runner.steps.map((parts) => parts.map(({ first, rows }) => [first, rows]))).toEqual([
    [[0, 3]],
    [[3, 1]],
  ]);
  expect(generated(sequence)).toEqual([]);
  while (!sequence.finished) {
    release();
    await sleep(1);
  }
  expect(generated(sequence)).toEqual(paperTokens([1, 2, 3], 4, 0));
});

it('the engine loop ends a request whose prompt cannot be recorded, and no other', async () => {
  const engine = createPaperEngine({ pages: 8, slots: 2, rows: 32 });
  const recorder = {
    takePrompt: () => {
      throw new Error('no prompt');
    },
    doneMembers: () => ({}),
  } as unknown as Recorder;
  const broken = paperSequence([9, 8], 5, { recorder });
  const other = paperSequence([1, 2, 3], 5);
  [broken, other].forEach(engine.start);
  await allFinished([broken, other]);
  const end = { finishReason: 'abort', error: { code: 'internal', message: 'no prompt' } };
  expect(broken.events.at(-1)).toMatchObject(end);
  expect(generated(other)).toEqual(paperTokens([1, 2, 3], 5, 0));
});

it('the engine loop drops the token that a stop made superfluous', async () => {
  const engine = createPaperEngine({ pages: 8, slots: 2, rows: 32 });
  const expected = paperTokens([9, 8], 12, 5);
  const at = expected.findIndex((id, i) => i > 3 && expected.indexOf(id) === i);
  const sequence = engine.start(paperSequence([9, 8], 100, { seed: 5, stopIds: [expected[at]!] }));
  await allFinished([sequence]);
  await engine.loop.close();
  expect(generated(sequence)).toEqual(expected.slice(0, at + 1));
  expect(sequence.events.at(-1)).toMatchObject({ finishReason: 'stop', matchedStop: expected[at] });
  expect(engine.loop.counters.generatedTokens).toBe(at + 1);
});

it('the engine loop reports how much of a prompt is computed', async () => {
  const engine = createPaperEngine({ pages: 8, slots: 2, rows: 32 });
  const prompt = Array.from({ length: 80 }, (_, i) => i);
  const sequence = engine.start(paperSequence(prompt, 1));
  await allFinished([sequence]);
  expect(sequence.events.filter(({ type }) => type === 'prefill')).toEqual(
    [32, 64, 80].map((processed) => ({
      type: 'prefill',
      processed,
      promptTokens: 80,
      cachedTokens: 0,
      cached: { device: 0, host: 0, storage: 0 },
    })),
  );
  expect(engine.loop.counters.promptTokens).toBe(80);
});

it('a step is made of rows, tiles of at most 16, and tables of the pages that hold them', async () => {
  const engine = createPaperEngine({ pages: 16, slots: 4, rows: 64 });
  const first = engine.start(paperSequence(Array(40).fill(3), 5));
  expect(engine.runner.sizes[0]).toEqual({
    rows: 40,
    sampled: 1,
    tiles: 3,
    tileRows: 16,
    contextPages: 2,
    expandedPages: 0,
    sequences: 1,
  });
  const others = [engine.start(paperSequence([5], 3)), engine.start(paperSequence(Array(20).fill(4), 3))];
  await allFinished([first, ...others]);
  const shapes = engine.runner.steps.map((parts) => parts.map(({ rows }) => rows).join());
  expect(shapes[0]).toBe('40');
  const mixed = engine.runner.sizes[shapes.indexOf('1,1,20')];
  expect(mixed).toEqual({
    rows: 22,
    sampled: 3,
    tiles: 4,
    tileRows: 16,
    contextPages: 2,
    expandedPages: 0,
    sequences: 3,
  });
});

describe('a step that fails', () => {
  it('ends every request with the error, and the next one works', async () => {
    const engine = createPaperEngine({ pages: 8, slots: 2, rows: 32 });
    const sequences = [1, 2, 3].map((token) => engine.start(paperSequence([token], 50)));
    await until(() => generated(sequences[0]!).length >= 5);
    engine.runner.broken = new EngineError('internal', 'the GPU layer reported: broken');
    await allFinished(sequences);
    const error = { code: 'internal', message: 'the GPU layer reported: broken' };
    for (const { events } of sequences)
      expect(events.at(-1)).toMatchObject({ type: 'done', finishReason: 'abort', error });
    expect(engine.scheduler.pages.available).toBe(8);
    engine.runner.broken = null;
    expect(engine.runner.cleanerRestarts).toBe(1); // a page may hold what is not a number
    const next = engine.start(paperSequence([4], 6));
    await allFinished([next]);
    expect(generated(next)).toEqual(paperTokens([4], 6, 0));
  });

  it.each(['plan', 'takeMoves'] as const)('in the scheduler (%s) does so, too', async (name) => {
    const engine = createPaperEngine({ pages: 8, slots: 2, rows: 32 });
    const sequences = [1, 2, 3].map((token) => engine.start(paperSequence([token], 50)));
    await until(() => generated(sequences[0]!).length >= 5);
    const { scheduler } = engine;
    const method = scheduler[name];
    scheduler[name] = () => {
      scheduler[name] = method as never;
      throw new Error('no order');
    };
    await allFinished(sequences);
    for (const { events } of sequences)
      expect(events.at(-1)).toMatchObject({
        finishReason: 'abort',
        error: { code: 'internal', message: 'no order' },
      });
    expect(scheduler.pages.available).toBe(8);
    const next = engine.start(paperSequence([4], 6));
    await allFinished([next]);
    expect(generated(next)).toEqual(paperTokens([4], 6, 0));
  });

  it('ends every request if starting afresh fails as well', async () => {
    const engine = createPaperEngine({ pages: 8, slots: 1, rows: 32 });
    const sequences = [1, 2].map((token) => engine.start(paperSequence([token], 50)));
    await until(() => generated(sequences[0]!).length >= 5);
    engine.runner.broken = new EngineError('internal', 'broken');
    engine.scheduler.restart = () => {
      throw new Error('no order');
    };
    await allFinished(sequences);
    for (const { events } of sequences) expect(events.at(-1)).toMatchObject({ finishReason: 'abort' });
    await engine.loop.close();
  });

  it('lets go of the step that waits for its tokens', async () => {
    const engine = createPaperEngine({ pages: 8, slots: 2, rows: 32 });
    const { launch } = engine.runner.launcher;
    engine.runner.launcher.launch = (parts, options) => {
      const isFirst = engine.runner.steps.length === 0;
      const launched = launch(parts, options);
      const fails = (): Promise<never> => Promise.reject(new EngineError('internal', 'broken'));
      return isFirst ? { ...launched, sample: fails } : launched;
    };
    const sequence = paperSequence([1], 50);
    sequence.constraint = paperConstraint({ seed: 1, forcedIn: 1000 });
    await allFinished([engine.start(sequence)]);
    await until(() => engine.runner.dropped > 0);
    expect(engine.runner.steps).toHaveLength(2);
  });
});

it.each([
  ['tokens', 'push'],
  ['its end', 'flush'],
] as const)(
  'a request whose parser fails on %s ends once with the error, and no other does',
  async (_, method) => {
    const engine = createPaperEngine({ pages: 8, slots: 2, rows: 32 });
    const parser = Object.assign(plainOutput(), {
      [method]: () => {
        throw new Error('no such part');
      },
    });
    const [bad, good] = [paperSequence([1], 10, { parser }), paperSequence([2], 30)];
    [bad, good].forEach(engine.start);
    await allFinished([bad, good]);
    const error = { code: 'internal', message: 'no such part' };
    expect(bad.events.filter(({ type }) => type === 'done')).toMatchObject([
      { finishReason: 'abort', matchedStop: null, error },
    ]);
    expect(good.events.at(-1)).toMatchObject({ finishReason: 'length' });
    expect(generated(good)).toEqual(paperTokens([2], 30, 0));
    expect(engine.scheduler.pages.available).toBe(8);
  },
);

it('closing the engine loop ends running and waiting requests', async () => {
  const engine = createPaperEngine({ pages: 8, slots: 1, rows: 32 });
  const sequences = [1, 2].map((token) => engine.start(paperSequence([token], 200)));
  await until(() => generated(sequences[0]!).length >= 3);
  await engine.loop.close();
  await engine.loop.close();
  for (const { events } of sequences)
    expect(events.at(-1)).toMatchObject({ type: 'done', finishReason: 'abort' });
  expect(engine.scheduler.pages.available).toBe(8);
});

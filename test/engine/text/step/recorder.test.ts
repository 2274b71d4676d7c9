// Recorded data against transformers: hidden states from which tokens were sampled, and experts of each row.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TextEvent, TextModel } from '../../../../src/engine/text/calls/text-model.ts';
import type { TextRequest } from '../../../../src/engine/text/calls/text-request.ts';
import { openGolden as openStored } from '../../../models/golden.ts';
import { goldenCases, greedy, openGolden, type GoldenName } from '../../fixture.ts';

/** Keys and values are stored in f16. */
const TOLERANCE = 2e-2;

type Done = Extract<TextEvent, { type: 'done' }>;

async function done(model: TextModel, request: TextRequest): Promise<Done[]> {
  const ends: Done[] = [];
  for await (const event of model.generate(request)) if (event.type === 'done') ends.push(event);
  return ends.sort((a, b) => a.choice - b.choice);
}

function routesOf({ routedExperts }: Done): { shape: number[]; ids: number[] } {
  const { shape, data } = routedExperts!;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return { shape, ids: Array.from({ length: data.length / 4 }, (_, i) => view.getInt32(4 * i, true)) };
}

const NAMES: GoldenName[] = ['qwen3-moe', 'olmoe'];

describe.each(NAMES)('the recorder of %s', (name) => {
  const [golden] = goldenCases(name);
  const { prompt_ids: prompt, tokens } = golden!.greedy!;
  const routed = golden!.routed!;
  const [layers, chosen] = [routed[0]!.length, routed[0]![0]!.length];
  let model: TextModel;
  beforeAll(async () => {
    model = await openGolden(name, {
      enableHiddenStates: true,
      enableRoutedExperts: true,
      prefillChunk: 16,
      maxRunningRequests: 4,
    });
  }, 240_000);
  afterAll(() => model.close());

  test('records the experts of each row as transformers chooses them', async () => {
    for (const from of [0, 7, prompt.length]) {
      const [end] = await done(model, { ...greedy(prompt, 32), routedExperts: { from } });
      const wanted = routed.slice(from, prompt.length + tokens.length - 1);
      expect(routesOf(end!)).toEqual({ shape: [wanted.length, layers, chosen], ids: wanted.flat(2) });
      expect(end!.hiddenStates).toBeUndefined();
    }
  });

  test('records the states that the head multiplies', async () => {
    const stored = openStored(name);
    const of = stored.cases[0]!;
    const wanted = await stored.logits('default.states');
    const [end] = await done(model, { ...greedy(prompt, 32), hiddenStates: 'all' });
    const states = end!.hiddenStates as number[][];
    expect(states.length).toBe(32);
    let compared = 0;
    of.positions.forEach((position, i) => {
      const state = states[position - prompt.length + 1];
      if (position < prompt.length - 1 || !state) return;
      const scale = Math.max(...wanted[i]!.map(Math.abs));
      expect(state.length).toBe(wanted[i]!.length);
      state.forEach((value, k) => expect(Math.abs(value - wanted[i]![k]!) / scale).toBeLessThan(TOLERANCE));
      compared++;
    });
    expect(compared).toBeGreaterThanOrEqual(2);
    const [last] = await done(model, { ...greedy(prompt, 32), hiddenStates: 'last' });
    expect(last!.hiddenStates).toEqual(states.at(-1));
    expect(last!.routedExperts).toBeUndefined();
  });

  test('records of each request its own beside others, whatever choices share', async () => {
    const request = (seed: number): TextRequest => ({
      prompt: { ids: prompt.slice(seed) },
      temperature: 1.2,
      seed,
      maxTokens: 9 + seed,
      ignoreEos: true,
      hiddenStates: 'all',
      routedExperts: { from: 2 },
      n: seed === 1 ? 3 : 1,
    });
    const alone = [];
    for (const seed of [0, 1, 2]) alone.push(await done(model, request(seed)));
    const together = await Promise.all([0, 1, 2].map((seed) => done(model, request(seed))));
    expect(together).toEqual(alone);
    expect(alone[1]!.map((end) => routesOf(end).shape[0])).toEqual([30, 30, 30]);
  });
});

describe('values that are not recorded', () => {
  test('are refused for dense models, which have no experts', async () => {
    const model = await openGolden('llama', { maxRunningRequests: 1 });
    const ids = [5, 6, 7];
    await expect(done(model, { ...greedy(ids, 2), hiddenStates: 'all' })).rejects.toMatchObject({
      code: 'bad_request',
      param: 'hiddenStates',
      message: expect.stringContaining('`enableHiddenStates`') as string,
    });
    await expect(done(model, { ...greedy(ids, 2), routedExperts: { from: 0 } })).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining('models with experts') as string,
    });
    await model.close();
  });

  test('are refused from a beginning behind the prompt', async () => {
    const closed = await openGolden('olmoe', { maxRunningRequests: 1 });
    await expect(done(closed, { ...greedy([5], 2), routedExperts: { from: 0 } })).rejects.toThrow(
      '`enableRoutedExperts`',
    );
    await closed.close();
    const open = await openGolden('olmoe', { maxRunningRequests: 1, enableRoutedExperts: true });
    await expect(done(open, { ...greedy([5, 6], 2), routedExperts: { from: 3 } })).rejects.toMatchObject({
      code: 'bad_request',
      param: 'routedExperts.from',
    });
    await open.close();
  });
});

// Language models whose activations are rounded to 8 bits, with the kernels of GPUs: replies, a batch and its single requests, and what is refused.

import { afterAll, expect, test } from 'vitest';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import type { OpenEvent } from '../../../../src/engine/opening/open-event.ts';
import { TEXT } from '../../../../src/host/kinds/text.ts';
import { openInline } from '../../../../src/host/open.ts';
import type { TextModel, TextModelOptions } from '../../../../src/engine/text/calls/text-model.ts';
import { textOf } from '../../../../src/files/message.ts';
import { disguise } from '../../../gpu/test-device.ts';
import { collect, goldenModel, greedy, openGolden } from '../../fixture.ts';

const platform = {
  ...nodePlatform,
  async openDevice({
    activationDtype: activations,
    ...options
  }: Parameters<typeof nodePlatform.openDevice>[0]) {
    const device = await nodePlatform.openDevice(options);
    // Small tiles compile in half the time.
    const tiles = { matvecRows: 2, sharedRows: 16, promptSums: 4 } as const;
    return disguise(device, { profile: 'discrete', ...tiles, ...(activations && { activations }) });
  },
};

const opened: TextModel[] = [];
async function open(options: Partial<TextModelOptions>): Promise<TextModel> {
  const model = await openGolden('qwen3', options, platform);
  opened.push(model);
  return model;
}
afterAll(async () => {
  for (const model of opened) await model.close();
});

const prompt = (length: number, seed: number): number[] =>
  Array.from({ length }, (_, i) => (i * i * 31 + i * 7 + seed * 13) % 250);

/** Ids and log probabilities of the greedy reply. */
async function scored(model: TextModel, ids: number[], count: number): Promise<[number, number][]> {
  const found: [number, number][] = [];
  for await (const event of model.generate({ ...greedy(ids, count), logprobs: 1 }))
    if (event.type === 'delta')
      (event.logprobs ?? []).forEach(({ logprob }, i) => found.push([event.ids[i]!, logprob]));
  return found;
}

/** Opened by the first test that asks it. */
let opening: Promise<TextModel> | undefined;
const openRounded = (): Promise<TextModel> =>
  (opening ??= open({ quantization: 'int8', activationDtype: 'int8' }));

test('requests with activations in 8 bits together give what each gives alone', async () => {
  const requests = Array.from({ length: 6 }, (_, i) => greedy(prompt(3 + i * 17, i), 10 + i));
  const rounded = await openRounded();
  const single: unknown[] = [];
  for (const request of requests) single.push((await collect(rounded.generate(request))).ids[0]);
  const together = await Promise.all(
    requests.map(async (request) => (await collect(rounded.generate(request))).ids[0]),
  );
  expect(together).toEqual(single);
});

test('log probabilities of activations in 8 bits are near those of floats, and differ', async () => {
  const rounded = await openRounded();
  const floats = await open({ quantization: 'int8' });
  let [worst, compared] = [0, 0];
  for (let seed = 0; seed < 6; seed++) {
    const ids = prompt(4 + 9 * seed, seed);
    const [near, exact] = [await scored(rounded, ids, 8), await scored(floats, ids, 8)];
    expect(near).toHaveLength(8);
    // Where a token is another one, those after it are not comparable.
    const apart = near.findIndex(([id], i) => id !== exact[i]![0]);
    near.slice(0, apart < 0 ? near.length : apart).forEach(([, logprob], i) => {
      worst = Math.max(worst, Math.abs(logprob - exact[i]![1]));
      compared++;
    });
  }
  expect(compared).toBeGreaterThan(24);
  expect(worst).toBeGreaterThan(1e-5);
  expect(worst).toBeLessThan(0.2);
});

/** Notes up to the first one about activations, or until kernels are compiled: both end the opening. */
async function notesOf(options: Partial<TextModelOptions>): Promise<string[]> {
  const folder = goldenModel('qwen3');
  const notes: string[] = [];
  const note = (event: OpenEvent): void => {
    if (event.type === 'note') notes.push(textOf(event.message));
    if (event.type === 'warmup' || notes.at(-1)?.includes('activationDtype')) throw new Error('enough');
  };
  try {
    const given = { model: folder.path, safe: true, memoryBudget: 2 ** 30, ...options };
    opened.push(await openInline(TEXT, platform, given, note));
  } catch (cause) {
    expect(cause).toMatchObject({ message: 'enough' });
  } finally {
    folder.remove();
  }
  return notes;
}

test('a note names the weights that are multiplied by integers', async () => {
  expect(await notesOf({ quantization: 'int4', activationDtype: 'int8' })).toContain(
    '`activationDtype` int8: weights in int4 are multiplied by activations rounded to 8 bits',
  );
  expect((await notesOf({ quantization: 'int8' })).join()).not.toContain('activationDtype');
});

test('activations in 8 bits are refused for weights that are numbers, and on software adapters', async () => {
  await expect(open({ activationDtype: 'int8' })).rejects.toMatchObject({
    code: 'bad_request',
    param: 'activationDtype',
    message: expect.stringContaining('add `quantization` int8 or int4'),
  });
  await expect(
    openGolden('qwen3', { quantization: 'int8', activationDtype: 'int8' }, nodePlatform),
  ).rejects.toMatchObject({
    code: 'unsupported',
    param: 'activationDtype',
    message: '`activationDtype` int8 is for GPUs, and this adapter is a software adapter: leave it out',
  });
});

// Language models whose matrices and heads are divided among devices compute what one device does.

import { afterAll, expect, it, vi } from 'vitest';
import type { Device } from '../../../../src/gpu/device.ts';
import { TEXT } from '../../../../src/host/kinds/text.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import type { TextModel, TextModelOptions, TextRequest } from '../../../../src/index.ts';
import { type GoldenName, greedy, openGolden } from '../../fixture.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const devices: Device[] = [];
const platform = {
  ...nodePlatform,
  async openDevice(options: Parameters<typeof nodePlatform.openDevice>[0]) {
    const device = await nodePlatform.openDevice(options);
    devices.push(device);
    return device;
  },
};

const SMALL = { maxRunningRequests: 2, prefillChunk: 16, memoryBudget: 2 ** 28, safe: false };
const TWO = { ...SMALL, tpSize: 2, logicalRanks: true };
const open: TextModel[] = [];
afterAll(() => Promise.all(open.map((model) => model.close())));

async function opened(name: GoldenName, options: Partial<TextModelOptions>): Promise<TextModel> {
  const model = await openGolden(name, options, platform);
  open.push(model);
  return model;
}

const prompt = Array.from({ length: 40 }, (_, i) => (i * i * 31) % 250);

async function run(model: TextModel, request: Partial<TextRequest> = {}) {
  const ids: number[] = [];
  const logprobs: number[] = [];
  for await (const event of model.generate({ ...greedy(prompt, 12), logprobs: 1, ...request })) {
    if (event.type === 'prompt') logprobs.push(...event.tokens.map(({ logprob }) => logprob ?? 0));
    if (event.type !== 'delta') continue;
    ids.push(...event.ids);
    logprobs.push(...(event.logprobs ?? []).map(({ logprob }) => logprob));
  }
  return { ids, logprobs };
}

const distance = (a: readonly number[], b: readonly number[]): number =>
  Math.max(...a.map((value, i) => Math.abs(value - b[i]!)));

it('two devices with half of the heads each give the tokens of one, with its log probabilities', async () => {
  const [one, two] = [await opened('llama', SMALL), await opened('llama', TWO)];
  const asked = { promptLogprobs: 1 };
  const [alone, apart] = [await run(one, asked), await run(two, asked)];
  expect(apart.ids).toEqual(alone.ids);
  expect(alone.logprobs).toHaveLength(52);
  expect(apart.logprobs).toHaveLength(52);
  expect(distance(apart.logprobs, alone.logprobs)).toBeLessThan(1e-5);
  const drawn = { temperature: 1, seed: 7, constraint: { type: 'regex' as const, pattern: '[a-z ]{12}' } };
  expect(await run(two, drawn)).toMatchObject({ ids: (await run(one, drawn)).ids });
  expect(two.info.parameters).toBe(one.info.parameters);
  expect(two.info.memory.budget).toBe(2 * one.info.memory.budget);
  expect((await two.metrics()).pages.bytesPerPage).toBe((await one.metrics()).pages.bytesPerPage / 2);
});

it('requests that run together give the tokens of one device, with weights in f16 and in int8', async () => {
  const requests = [0, 1, 2].map((i) => ({ prompt: { ids: prompt.slice(i, 20 + 9 * i) } }));
  for (const quantization of ['none', 'int8'] as const) {
    const [one, two] = [
      await opened('qwen2', { ...SMALL, quantization }),
      await opened('qwen2', { ...TWO, quantization }),
    ];
    const all = (model: TextModel) => Promise.all(requests.map((request) => run(model, request)));
    const [alone, apart] = [await all(one), await all(two)];
    expect(apart.map(({ ids }) => ids)).toEqual(alone.map(({ ids }) => ids));
    const flat = (runs: typeof alone) => runs.flatMap(({ logprobs }) => logprobs);
    // The border between the devices cuts blocks of 32 inputs, which int8 then rounds in other blocks.
    expect(distance(flat(apart), flat(alone))).toBeLessThan(quantization === 'none' ? 1e-4 : 0.05);
  }
});

it('the loss of one of the devices opens all anew, and requests go on', async () => {
  const model = await opened('llama', TWO);
  const expected = await run(model, { maxTokens: 40 });
  const second = devices.at(-1)!;
  const ids: number[] = [];
  for await (const event of model.generate({ ...greedy(prompt, 40), logprobs: 1 })) {
    if (event.type !== 'delta') continue;
    ids.push(...event.ids);
    if (ids.length > 3 && !second.isLost) second.destroy('pulled out');
  }
  expect(ids).toEqual(expected.ids);
  expect(await model.metrics()).toMatchObject({ deviceRestarts: 1, running: 0 });
});

it('a step that fails on one of the devices opens all anew, and requests go on', async () => {
  const model = await opened('llama', TWO);
  const expected = await run(model);
  const second = devices.at(-1)!;
  const failing = vi.spyOn(second, 'takeError').mockImplementationOnce(() => {
    throw new Error('cosmic ray');
  });
  expect(await run(model)).toMatchObject({ ids: expected.ids });
  expect(failing).toHaveBeenCalled();
  expect(second.isLost).toBe(true);
  expect(await model.metrics()).toMatchObject({ deviceRestarts: 1, running: 0 });
});

it('adapters of different kinds are refused', async () => {
  const mixed = {
    ...platform,
    async openDevice(options: Parameters<typeof nodePlatform.openDevice>[0]) {
      const device = await platform.openDevice(options);
      const summary = { ...device.summary, description: `card ${options?.place?.rank}` };
      return Object.defineProperty(device, 'summary', { value: summary });
    },
  };
  await expect(openGolden('llama', TWO, mixed)).rejects.toMatchObject({
    code: 'unsupported',
    param: 'tpSize',
    message: expect.stringMatching(
      /^`tpSize` 2 needs equal GPUs, .* card 0 and card 1: use `dpSize`/,
    ) as unknown,
  });
  expect(devices.slice(-2).map(({ isLost }) => isLost)).toEqual([true, true]);
});

it.each<[GoldenName, object, string, RegExp]>([
  ['mistral', {}, 'tpSize', /does not divide MistralForCausalLM, which has 1 heads of keys and values/],
  [
    'qwen3-moe',
    {},
    'tpSize',
    /`tpSize` 2 does not divide Qwen3MoeForCausalLM, which has experts: use `dpSize`/,
  ],
  ['lfm2', {}, 'tpSize', /`tpSize` 2 does not divide Lfm2ForCausalLM yet/],
])('%s with %j is refused', async (name, options, param, message) => {
  await expect(opened(name, { ...TWO, ...options })).rejects.toMatchObject({
    code: 'unsupported',
    param,
    message: expect.stringMatching(message) as unknown,
  });
});

it('options that a divided model does not have are refused, and so is a LoRA that comes later', async () => {
  const check = (options: Partial<TextModelOptions>) => TEXT.check({ model: 'x', tpSize: 2, ...options });
  expect(() => check({ hostCache: 1e6 })).toThrow(/^`hostCache` does not go with `tpSize` 2 yet/);
  expect(() => check({ numGpus: 3 })).toThrow(/`numGpus` 3 is not a multiple of `tpSize` 2/);
  expect(() => check({ numGpus: 2, dpSize: 2 })).toThrow(/`numGpus` 2 is not `dpSize` 2 times `tpSize` 2/);
  check({ numGpus: 4, dpSize: 2 });
  await expect(open[1]!.loadLora('poet', '/poet')).rejects.toMatchObject({ code: 'unsupported' });
});

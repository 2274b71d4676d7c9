// Real models that draft tokens: random requests, together, have the replies and the log probabilities that they have without drafts, in
// families with KV pages, fixed states and experts, on both kinds of kernels, with few pages, and after the device was lost.

import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import type { Device } from '../../../../src/gpu/device.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { NgramDrafter } from '../../../../src/engine/text/speculation/ngram-drafter.ts';
import type { TextModel, TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import { disguise } from '../../../gpu/test-device.ts';
import { openGolden, type GoldenName } from '../../fixture.ts';
import { randomInteger } from '../../random.ts';

const devices: Device[] = [];
const keeping = (as?: Parameters<typeof disguise>[1]): typeof nodePlatform => ({
  ...nodePlatform,
  openDevice: async (options) => {
    const device = await nodePlatform.openDevice(options);
    devices.push(device);
    return as ? disguise(device, as) : device;
  },
});
const CPU = keeping();
const GPU = keeping({ profile: 'discrete', matvecRows: 2, sharedTiles: 1, sharedRows: 16, promptSums: 4 });

const DRAFTING = {
  speculativeAlgorithm: 'ngram',
  speculativeNumDraftTokens: 7,
  speculativeAdaptive: false,
} as const;

const opened: TextModel[] = [];
afterAll(async () => {
  for (const model of opened) await model.close();
});
async function open(
  name: GoldenName,
  options: Parameters<typeof openGolden>[1],
  platform = CPU,
): Promise<TextModel> {
  const model = await openGolden(
    name,
    { maxRunningRequests: 6, customLogitProcessors: true, ...options },
    platform,
  );
  opened.push(model);
  return model;
}

/** Settings that change what is sampled, one for each request in turn. */
const VARIANTS: ((random: (below: number) => number) => Partial<TextRequest>)[] = [
  () => ({}),
  (random) => ({ temperature: 0.2, seed: random(1000), logprobs: 3 }),
  () => ({ repetitionPenalty: 1.05, frequencyPenalty: 0.1, presencePenalty: 0.1 }),
  (random) => ({ temperature: 0.3, topK: 5, topP: 0.9, minP: 0.05, seed: random(1000), n: 2 }),
  (random) => ({ logitBias: { [random(90) + 33]: 3 }, minTokens: 5, ignoreEos: false }),
  () => ({ constraint: { type: 'regex', pattern: '([a-e]{3} [0-9]{2},){1,40}' }, logprobs: 1 }),
  () => ({ constraint: { type: 'regex', pattern: '(name: [a-c]{2}; ){1,40}' }, temperature: 0.5, seed: 4 }),
  () => ({ processors: [{ name: 'no_repeat_ngram', size: 6 }] }),
  () => ({ processors: [{ name: 'bad_words', words: ['a', 'Q!'] }], stop: ['zz'] }),
  () => ({ processors: [{ name: 'wgsl', source: WGSL }], temperature: 0.2, seed: 3 }),
];

const WGSL = `fn process(token: u32, logit: f32, position: u32, count: u32) -> f32 {
  return logit - 0.01 * f32(count) - select(0.0, 2.0, token % 7u == position % 7u);
}`;

/** `most`: tokens of the longest reply, a multiple of 3 from 18 on; the shortest has a third of them, and prompts have up to 5/3. */
function requests(count: number, seed: number, most = 36): TextRequest[] {
  const random = randomInteger(seed);
  return Array.from({ length: count }, (_, i) => {
    // Some prompts repeat themselves, so that there is something to look up.
    const period = 2 + random(12);
    const run = Array.from({ length: period }, () => 33 + random(90));
    const ids = Array.from({ length: 4 + random((5 * most) / 3) }, (_, at) => run[at % period]!);
    return {
      ...{ prompt: { ids }, temperature: 0, maxTokens: most - random((2 * most) / 3 + 1), ignoreEos: true },
      ...VARIANTS[i % VARIANTS.length]!(random),
    };
  });
}

/** What a request was answered, by choice. */
async function reply(model: TextModel, request: TextRequest) {
  const told: { ids: number[]; text: string; logprobs: unknown[]; end: unknown }[] = [];
  for await (const event of model.generate(request)) {
    if (event.type !== 'delta' && event.type !== 'done') continue;
    const choice = (told[event.choice] ??= { ids: [], text: '', logprobs: [], end: null });
    if (event.type === 'done') choice.end = [event.finishReason, event.matchedStop, event.completionTokens];
    else {
      choice.ids.push(...event.ids);
      choice.text += event.text;
      choice.logprobs.push(...(event.logprobs ?? []));
    }
  }
  return told;
}

const replies = (model: TextModel, asked: readonly TextRequest[]) =>
  Promise.all(asked.map((request) => reply(model, request)));

type Replies = Awaited<ReturnType<typeof replies>>;

/** Makes drafters propose what the requests were answered before, with a wrong token now and then: random models repeat little. */
function foretell(asked: readonly TextRequest[], expected: Replies): void {
  const random = randomInteger(3);
  const keyOf = (ids: readonly number[]): string => ids.join();
  const known = new Map(
    asked.map(({ prompt }, i) => [keyOf((prompt as { ids: number[] }).ids), expected[i]!]),
  );
  vi.spyOn(NgramDrafter.prototype, 'propose').mockImplementation(({ progress }, most) => {
    const said = progress.ids.slice(progress.promptTokens);
    const choices = known.get(keyOf(progress.ids.slice(0, progress.promptTokens))) ?? [];
    const choice = choices.find(({ ids }) => keyOf(ids.slice(0, said.length)) === keyOf(said));
    const next = (choice?.ids ?? []).slice(said.length, said.length + random(most + 1));
    const ids = next.map((id) => (random(5) === 0 ? random(250) : id));
    return { ids, chances: ids.map(() => 1) };
  });
}
afterEach(() => void vi.restoreAllMocks());

describe.each([
  ['qwen3', CPU, { kvCacheDtype: 'int8' }],
  ['qwen3-next', CPU, {}],
  ['qwen3-next', GPU, {}],
  ['lfm2', CPU, {}],
  ['qwen3-moe', CPU, { cpuMoeLayers: 2 }],
] as const)('replies of %s with drafts', (name, platform, options) => {
  it(`are those without, on the kernels of ${platform === CPU ? 'CPUs' : 'GPUs'}`, async () => {
    // Kernels of GPUs compute slowly on a CPU: each kind of request once, with short replies.
    const isSlow = platform === GPU;
    const asked = isSlow ? requests(VARIANTS.length, 11, 18) : requests(2 * VARIANTS.length, 11);
    const plain = await open(name, options, platform);
    const expected = await replies(plain, asked);
    const drafting = await open(name, { ...options, ...DRAFTING }, platform);
    foretell(asked, expected);
    expect(await replies(drafting, asked)).toEqual(expected);
    const { speculation } = await drafting.metrics();
    expect(speculation!.accepted).toBeGreaterThan(isSlow ? 40 : 150);
    expect(speculation!.proposed).toBeGreaterThan(speculation!.accepted);
  }, 240_000);
});

it.each(['qwen3', 'qwen3-next'] as const)(
  'requests to %s that draft survive few pages and the loss of the device',
  async (name) => {
    const asked = requests(12, 5);
    const expected = await replies(await open(name, {}), asked);
    const model = await open(name, { ...DRAFTING, maxTotalTokens: 320 });
    const device = devices.at(-1)!;
    foretell(asked, expected);
    const running = replies(model, asked);
    while ((await model.metrics()).generatedTokens < 100)
      await new Promise((resolve) => setTimeout(resolve, 2));
    device.destroy();
    expect(await running).toEqual(expected);
    const { deviceRestarts, retractions } = await model.metrics();
    expect(deviceRestarts).toBe(1);
    expect(retractions).toBeGreaterThan(0);
  },
);

it('a request that is not speculative drafts nothing', async () => {
  const model = await open('qwen3', DRAFTING);
  await replies(
    model,
    requests(4, 2).map((request) => ({ ...request, speculative: false, logprobs: undefined })),
  );
  expect((await model.metrics()).speculation).toEqual({ drafts: 0, proposed: 0, accepted: 0 });
});

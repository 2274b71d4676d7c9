// Language models that are larger than their memory budget: layers come from host memory, and replies are those of a model on the device.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { planModel } from '../../../src/host/node/plan.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { openInline } from '../../../src/host/open.ts';
import type { TextModelOptions } from '../../../src/engine/text/calls/text-model.ts';
import { collect, goldenModel, greedy } from '../fixture.ts';
import { randomLlama } from '../checkpoint-folder.ts';

vi.setConfig({ testTimeout: 120_000 });

const PROMPT = Array.from({ length: 40 }, (_, i) => (i * 37) % 40);
const TOKENS = 8;
/** Bytes of one context, and of layers on their way to the device. */
const OTHER_BYTES = 5 * 2 ** 17;
/** Bytes of the factors of a golden LoRA, and of intermediates of their products. */
const ADAPTER_BYTES = 11 * 2 ** 15;

async function reply(options: Partial<TextModelOptions> & { model: string }, more: { lora?: string } = {}) {
  const notes: string[] = [];
  const model = await openInline(TEXT, nodePlatform, { safe: true, ...options }, (event) => {
    if (event.type === 'note') notes.push(event.message);
  });
  try {
    // Two at once, and one after them that finds their prompt in the cache.
    const ask = () => collect(model.generate({ ...greedy(PROMPT, TOKENS), ...more }));
    const replies = [...(await Promise.all([ask(), ask()])), await ask()];
    return { replies: replies.map(({ ids }) => ids[0]), info: model.info, notes };
  } finally {
    await model.close();
  }
}

describe('a model three times as large as its budget', () => {
  let folder: ReturnType<typeof randomLlama>;
  beforeAll(() => {
    const size = { hidden: 128, layers: 8, heads: 4, kvHeads: 2, ffn: 384, vocabulary: 512, context: 256 };
    folder = randomLlama(size);
  });
  afterAll(() => folder.remove());

  it.each(['none', 'int4'] as const)('answers as planned, quantization %s', async (quantization) => {
    const options = { model: folder.path, quantization, contextLength: 128, maxRunningRequests: 2 };
    const whole = await reply({ ...options, memoryBudget: 2 ** 30 });
    const { weights, arena } = whole.info.memory;
    const memoryBudget = Math.floor(weights / 3) + arena + OTHER_BYTES;
    const change = quantization === 'none' ? '`quantization` int4' : '`layerwiseOffload`';
    await expect(reply({ ...options, memoryBudget })).rejects.toMatchObject({
      code: 'out_of_memory',
      message: expect.stringContaining(`: it fits with ${change}`) as string,
    });
    // The change is enough; that of the others is tried below.
    if (quantization === 'none') await reply({ ...options, memoryBudget, quantization: 'int4' });
    const streamed = await reply({ ...options, memoryBudget, layerwiseOffload: true });
    expect(streamed.replies).toEqual(whole.replies);
    expect(streamed.info.contextLength).toBe(128);
    expect(streamed.notes.filter((note) => note.includes('of weights are in host memory'))).toHaveLength(1);
    // Packed weights of the cache are read into host memory, too.
    if (quantization === 'int4')
      expect((await reply({ ...options, memoryBudget, layerwiseOffload: true })).replies).toEqual(
        whole.replies,
      );
  });

  it('is planned as it opens', async () => {
    const { choices } = await planModel({ model: folder.path, memoryBudget: 2 ** 30 });
    const { scratch, weights } = choices[0]!;
    const options = { model: folder.path, memoryBudget: scratch + 2 ** 21 };
    const plan = await planModel({ ...options, layerwiseOffload: true });
    const { info, notes } = await reply({ ...options, layerwiseOffload: true });
    expect(notes).toEqual(expect.arrayContaining(plan.notes.map(({ message }) => message)));
    expect(plan.notes.filter(({ message }) => message.includes('are in host memory'))).toHaveLength(1);
    expect(plan.choices[0]).toMatchObject({
      opens: true,
      weights: info.memory.weights,
      scratch: info.memory.arena,
      contextLength: info.contextLength,
    });
    const coded = { ...options, memoryBudget: scratch + 5 * 2 ** 19, quantization: 'int4' } as const;
    expect(await planModel(coded)).toMatchObject({ fits: true });
    const small = { ...options, contextLength: 128, memoryBudget: Math.floor(weights / 3) + 2 ** 20 };
    expect(await planModel(small)).toMatchObject({ opens: false, change: { layerwiseOffload: true } });
    expect(await planModel({ ...small, layerwiseOffload: true })).toMatchObject({ fits: true });
  });
});

/** Mixtures of experts, tied heads, fixed states beside pages. */
it.each([
  ['qwen3-moe', 'none'],
  ['qwen3-moe', 'int4'],
  ['olmoe', 'int4'],
  ['qwen3', 'none'],
  ['qwen3-next', 'none'],
  ['lfm2', 'none'],
] as const)('%s has the tokens of a resident model, quantization %s', async (name, quantization) => {
  const golden = goldenModel(name);
  const options = { model: golden.path, quantization, contextLength: 128 };
  const whole = await reply({ ...options, memoryBudget: 2 ** 30 });
  const { change } = await planModel({ ...options, memoryBudget: 2 ** 16, layerwiseOffload: true });
  const tight = { ...options, memoryBudget: change!.memoryBudget!, layerwiseOffload: true };
  const streamed = await reply(tight);
  // Where intermediates take far more than the weights, as on a GPU, a budget for the former may hold the latter, too.
  const { notes } = await planModel(tight);
  golden.remove();
  const isTold = (note: string): boolean => note.includes('of weights are in host memory');
  expect(streamed.notes.filter(isTold)).toEqual(notes.map(({ message }) => message).filter(isTold));
  expect(streamed.replies).toEqual(whole.replies);
  expect(streamed.info.contextLength).toBe(128);
});

const GOLDEN = fileURLToPath(new URL('../../golden/', import.meta.url));

it.each<[string, Partial<TextModelOptions>, { lora?: string }]>([
  ['a GGUF file', { model: `${GOLDEN}gguf/qwen3/model.gguf` }, {}],
  ['a LoRA', { loraPaths: [`${GOLDEN}lora/llama-all`] }, { lora: 'llama-all' }],
])('%s has the tokens of a resident model', async (_, given, request) => {
  const golden = goldenModel('llama');
  const options = { model: golden.path, contextLength: 128, ...given };
  const whole = await reply({ ...options, memoryBudget: 2 ** 30 }, request);
  const planned = { model: options.model, contextLength: 128, memoryBudget: 2 ** 16, layerwiseOffload: true };
  const { change } = await planModel(planned);
  const memoryBudget = change!.memoryBudget! + (request.lora ? ADAPTER_BYTES : 0);
  const streamed = await reply({ ...options, memoryBudget, layerwiseOffload: true }, request);
  golden.remove();
  expect(streamed.notes.filter((note) => note.includes('of weights are in host memory'))).toHaveLength(1);
  expect(streamed.replies).toEqual(whole.replies);
});

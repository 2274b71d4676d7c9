// Experts in host memory with slots on the device: replies are those of a model on the device, log probabilities included, with any number of
// slots.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { safetensorsHead } from '../../../src/files/tensors/safetensors.ts';
import { openTextModel, planModel } from '../../../src/index.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { openInline } from '../../../src/host/open.ts';
import type { TextEvent, TextModelOptions, TextRequest } from '../../../src/engine/text/calls/text-model.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Platform } from '../../../src/engine/platform/platform.ts';
import { disguise, type Disguise } from '../../gpu/test-device.ts';
import { randomLlama } from '../checkpoint-folder.ts';
import { collect, goldenModel, greedy, type GoldenName } from '../fixture.ts';
import { keepDevices, useOwnDevices } from '../kept-devices.ts';
import { ownPackedCache } from '../own-packed-cache.ts';

vi.setConfig({ testTimeout: 120_000 });

const GOLDEN = fileURLToPath(new URL('../../golden/', import.meta.url));
const PROMPTS = [40, 3, 17].map((length) => Array.from({ length }, (_, i) => (i * 37 + length) % 40));
const TOKENS = 8;

const removed: (() => void)[] = [];
afterEach(() => removed.splice(0).forEach((remove) => remove()));

function pathOf(name: GoldenName): string {
  const golden = goldenModel(name);
  removed.push(golden.remove);
  return golden.path;
}

const platformAs = (as: Disguise): Platform => ({
  ...nodePlatform,
  openDevice: async (options) =>
    disguise(await nodePlatform.openDevice(options), { memoryBudget: options.memoryBudget, ...as }),
});

interface Asked {
  lora?: string;
  prompts?: readonly number[][];
  tokens?: number;
}

/** The replies to several prompts at once, and to the first of them again, whose beginning is cached by then. */
async function replies(
  options: TextModelOptions,
  platform: Platform = nodePlatform,
  { lora, prompts = PROMPTS, tokens = TOKENS }: Asked = {},
) {
  const notes: string[] = [];
  const opened = await openInline(TEXT, platform, { safe: true, contextLength: 128, ...options }, (event) => {
    if (event.type === 'note') notes.push(event.message);
  });
  try {
    const ask = async (ids: number[]): Promise<TextEvent[]> => {
      const deltas: TextEvent[] = [];
      const request = { ...greedy(ids, tokens), logprobs: 3, ...(lora !== undefined && { lora }) };
      for await (const event of opened.generate(request)) if (event.type === 'delta') deltas.push(event);
      return deltas;
    };
    const together = await Promise.all(prompts.map(ask));
    const told = [...together, await ask(prompts[0]!)];
    const { experts } = await opened.metrics();
    return { told, experts, notes, info: opened.info };
  } finally {
    await opened.close();
  }
}

const ROOM = 2 ** 30;

/** 128 padded columns of gate and up and 64 of down in bf16, 64 padded k's each. */
const EXPERT_BYTES = (128 + 64) * 64 * 2;

it('any number of slots has the replies of experts on the device', async () => {
  const options = { model: pathOf('qwen3-moe'), memoryBudget: ROOM };
  const whole = await replies(options);
  expect(whole.experts).toBeUndefined();
  const misses: number[] = [];
  for (const cpuMoeSlots of [1, 4, 64]) {
    const { told, experts } = await replies({ ...options, cpuMoe: true, cpuMoeSlots });
    expect(told).toEqual(whole.told);
    const slots = Math.min(cpuMoeSlots, 6);
    expect(experts).toMatchObject({ layers: 2, slots, experts: 6 });
    expect(experts!.bytes).toBe(experts!.misses * EXPERT_BYTES);
    misses.push(experts!.misses);
  }
  expect(misses).toEqual([...misses].sort((a, b) => b - a));
  expect(misses.at(-1)).toBe(12);
});

interface Case extends Partial<TextModelOptions> {
  as?: Disguise;
}

/** Shared experts beside layers without any, biases and codes of a file, states of fixed size, gate and up in one tensor, a dense block beside experts. */
it.each<[string, Case]>([
  ['olmoe', { quantization: 'int4' }],
  ['qwen2-moe', {}],
  ['gpt-oss-mxfp4', {}],
  ['qwen3-next', { quantization: 'int8' }],
  ['gguf/qwen3-moe/model.gguf', {}],
  ['gguf/gemma4-moe/model.gguf', {}],
  [
    'qwen3-moe',
    { as: { profile: 'discrete', matvecRows: 2, sharedTiles: 1, sharedRows: 16, promptSums: 4 } },
  ],
])('%s has equal replies with few slots, %o', async (name, { as, cpuMoeSlots = 2, ...given }) => {
  const model = name.endsWith('.gguf') ? GOLDEN + name : pathOf(name as GoldenName);
  const options = { model, memoryBudget: ROOM, ...given };
  const platform = as === undefined ? nodePlatform : platformAs(as);
  // Kernels of GPUs compute slowly on a CPU.
  const asked = as === undefined ? {} : { prompts: PROMPTS.slice(1), tokens: 3 };
  const whole = await replies(options, platform, asked);
  const slotted = await replies({ ...options, cpuMoe: true, cpuMoeSlots }, platform, asked);
  expect(slotted.told).toEqual(whole.told);
  expect(slotted.experts).toMatchObject({ slots: cpuMoeSlots });
  expect(slotted.experts!.misses).toBeGreaterThan(slotted.experts!.experts);
});

describe('experts in host memory', () => {
  it('may be in a file, and half of them', async () => {
    const options = { model: pathOf('qwen3-moe'), memoryBudget: ROOM };
    const whole = await replies(options);
    for (const budget of [0, 8 * EXPERT_BYTES]) {
      const platform: Platform = {
        ...nodePlatform,
        packed: ownPackedCache(),
        async openDevice(given) {
          const device = await nodePlatform.openDevice(given);
          device.host.budget = budget;
          return device;
        },
      };
      const slotted = await replies({ ...options, cpuMoe: true, cpuMoeSlots: 3 }, platform);
      expect(slotted.told).toEqual(whole.told);
      expect(slotted.notes).toContainEqual(
        expect.stringContaining('are read from a file as they are needed'),
      );
    }
  });

  it('survive the loss of a device, whose slots are empty afterwards', async () => {
    useOwnDevices();
    onTestFinished(keepDevices);
    const devices: Device[] = [];
    const platform: Platform = {
      ...nodePlatform,
      async openDevice(given) {
        devices.push(await nodePlatform.openDevice(given));
        return devices.at(-1)!;
      },
    };
    const options = {
      model: pathOf('qwen3-moe'),
      memoryBudget: ROOM,
      cpuMoe: true,
      cpuMoeSlots: 3,
      safe: true,
    };
    const model = await openInline(TEXT, platform, { ...options, contextLength: 128, maxRunningRequests: 2 });
    const requests = PROMPTS.map((ids, i) => ({
      ...greedy(ids, 20),
      ...(i === 1 && { temperature: 1, seed: i }),
    }));
    const run = async (request: TextRequest) => (await collect(model.generate(request))).ids[0];
    const expected = await Promise.all(requests.map(run));
    const before = (await model.metrics()).generatedTokens;
    const running = requests.map(run);
    while ((await model.metrics()).generatedTokens < before + 10)
      await new Promise((resolve) => setTimeout(resolve, 2));
    const { misses } = (await model.metrics()).experts!;
    devices[0]!.destroy();
    expect(await Promise.all(running)).toEqual(expected);
    const metrics = await model.metrics();
    expect(metrics).toMatchObject({ deviceRestarts: 1 });
    expect(metrics.experts!.misses).toBeLessThan(misses);
    await model.close();
  });
});

describe('a mixture of which experts take most of the memory', () => {
  const size = { hidden: 128, layers: 4, heads: 4, kvHeads: 2, ffn: 256, vocabulary: 320, context: 256 };
  const options = { contextLength: 128, model: '' };
  /** Bytes of an expert of one layer. */
  const expert = 3 * 128 * 256 * 2;
  let whole: Awaited<ReturnType<typeof replies>>;
  let folder: ReturnType<typeof randomLlama>;
  beforeAll(async () => {
    folder = randomLlama({ ...size, experts: 8 });
    options.model = folder.path;
    whole = await replies({ ...options, memoryBudget: ROOM, cpuMoe: true });
  });
  afterAll(() => folder.remove());

  it('has all of them on the device where there is room', () => {
    expect(whole.experts).toBeUndefined();
  });

  it('has as many slots as the budget leaves room for, as planned', async () => {
    const { weights, arena } = whole.info.memory;
    const memoryBudget = weights - 10 * expert + arena + 2 ** 20;
    const plan = await planModel({ ...options, memoryBudget, cpuMoe: true });
    const slotted = await replies({ ...options, memoryBudget, cpuMoe: true });
    const { slots, experts } = slotted.experts!;
    expect([slots > 1, slots < experts]).toEqual([true, true]);
    expect(slotted.told).toEqual(whole.told);
    expect(slotted.notes).toEqual(expect.arrayContaining(plan.notes.map(({ message }) => message)));
    expect(plan.notes.filter(({ message }) => message.includes('are experts in host memory'))).toHaveLength(
      1,
    );
    expect(plan.choices[0]).toMatchObject({
      opens: true,
      weights: slotted.info.memory.weights,
      scratch: slotted.info.memory.arena,
      contextLength: 128,
    });
    // A layer has a table of slots, of 256 bytes as allocated.
    expect(weights - slotted.info.memory.weights).toBe(size.layers * ((experts - slots) * expert - 256));
  });

  it('has layers in host memory, too', async () => {
    const both = { ...options, cpuMoe: true, cpuMoeSlots: 1, layerwiseOffload: true };
    const { change } = await planModel({ ...both, memoryBudget: 2 ** 16 });
    const { told, notes } = await replies({ ...both, memoryBudget: change!.memoryBudget! });
    expect(told).toEqual(whole.told);
    const places = notes.filter((note) => /are (experts )?in host memory/.test(note));
    expect(places).toHaveLength(2);
  });

  it('takes LoRAs', async () => {
    const lora = { loraPaths: [`queries=${writeLora(join(folder.path, 'lora'), size.hidden)}`] };
    const roomy = { ...options, ...lora, memoryBudget: ROOM };
    const adapted = await replies(roomy, nodePlatform, { lora: 'queries' });
    expect(adapted.told).not.toEqual(whole.told);
    const slotted = await replies({ ...roomy, cpuMoe: true, cpuMoeSlots: 3 }, nodePlatform, {
      lora: 'queries',
    });
    expect(slotted.told).toEqual(adapted.told);
  });

  it('has those of some layers in host memory', async () => {
    const { told, experts } = await replies({
      ...options,
      memoryBudget: ROOM,
      cpuMoeLayers: 1,
      cpuMoeSlots: 2,
    });
    expect(experts).toMatchObject({ layers: 1, slots: 2 });
    expect(told).toEqual(whole.told);
  });
});

/** Writes a LoRA of the first layer's queries to a folder, and returns that. */
function writeLora(path: string, hidden: number): string {
  const module = 'base_model.model.model.layers.0.self_attn.q_proj';
  const specs = ['lora_A', 'lora_B'].map((name, i) => ({
    name: `${module}.${name}.weight`,
    dtype: 'F32' as const,
    shape: i === 0 ? [4, hidden] : [hidden, 4],
  }));
  const values = Float32Array.from({ length: 2 * 4 * hidden }, (_, i) => ((i * 37) % 101) / 50 - 1);
  mkdirSync(path);
  const head = safetensorsHead(specs, {});
  writeFileSync(
    join(path, 'adapter_model.safetensors'),
    Buffer.concat([head, new Uint8Array(values.buffer)]),
  );
  const config = { peft_type: 'LORA', r: 4, lora_alpha: 4, target_modules: ['q_proj'] };
  writeFileSync(join(path, 'adapter_config.json'), JSON.stringify(config));
  return path;
}

it.each([
  ['llama', { cpuMoe: true }, /`cpuMoe` is for models of experts, and LlamaForCausalLM has none/],
  ['llama', { cpuMoeLayers: 2 }, /`cpuMoeLayers` is for models of experts/],
  ['olmoe', { cpuMoeSlots: 2 }, /`cpuMoeSlots` has no effect without experts in host memory/],
  ['olmoe', { cpuMoe: true, cpuMoeLayers: 1 }, /leave one of them out/],
  ['olmoe', { cpuMoe: true, tpSize: 2 }, /`cpuMoe` does not go with `tpSize` 2 yet/],
] as const)('%s with %o is refused', async (name, given, message) => {
  const model = pathOf(name);
  const refusal = { code: 'bad_request', message: expect.stringMatching(message) as string };
  await expect(openTextModel({ model, inline: true, ...given })).rejects.toMatchObject(refusal);
  if (!('tpSize' in given)) await expect(planModel({ model, ...given })).rejects.toMatchObject(refusal);
});

// Language models whose layers come from host memory, or from the cache of packed weights where that has no room: replies are those of a
// model on the device, and neither a lost device, an interrupt nor a damaged file changes one.

import { truncateSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { planModel } from '../../../src/host/node/plan.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import type { Platform } from '../../../src/engine/platform/platform.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { openInline } from '../../../src/host/open.ts';
import type { TextModel, TextModelOptions, TextRequest } from '../../../src/engine/text/calls/text-model.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { randomLlama } from '../checkpoint-folder.ts';
import { collect, goldenModel, greedy } from '../fixture.ts';
import { useOwnDevices } from '../kept-devices.ts';
import { ownPackedCache } from '../own-packed-cache.ts';

vi.setConfig({ testTimeout: 120_000 });

const TOKENS = 12;
const SIZE = { hidden: 128, layers: 8, heads: 4, kvHeads: 2, ffn: 384, vocabulary: 512, context: 256 };
/** Bytes of the factors of a golden LoRA. */
const ADAPTER_BYTES = 11 * 2 ** 15;
/** Bytes of host memory for about half of the layers. */
const HOST = 700 * 2 ** 10;

const requests: TextRequest[] = Array.from({ length: 4 }, (_, i) => ({
  ...greedy(
    Array.from({ length: 20 + i }, (_, k) => (k * 37 + i * 11) % 250),
    TOKENS,
  ),
  ...(i === 1 && { temperature: 1, seed: i, logprobs: 2 }),
  ...(i === 2 && { promptLogprobs: 1 }),
  // Sampled once the mask is known, after the forward pass.
  ...(i === 3 && { constraint: { type: 'regex' as const, pattern: '[a-z]{40}' } }),
}));

/** Opens a model on hosts with so much memory for weights. */
async function open(options: Partial<TextModelOptions> & { model: string }, hostBudget = Infinity) {
  const devices: Device[] = [];
  const notes: string[] = [];
  const packed = ownPackedCache();
  const platform: Platform = {
    ...nodePlatform,
    packed,
    async openDevice(given) {
      const device = await nodePlatform.openDevice(given);
      device.host.budget = hostBudget;
      devices.push(device);
      return device;
    },
  };
  const given = { safe: true, contextLength: 128, maxRunningRequests: 2, ...options };
  const model = await openInline(TEXT, platform, given, (event) => {
    if (event.type === 'note') notes.push(event.message);
  });
  return { model, devices, notes, packed };
}

const run = async (model: TextModel, request: TextRequest): Promise<number[]> =>
  (await collect(model.generate(request))).ids[0]!;

let folder: ReturnType<typeof randomLlama>;
let streamed: Partial<TextModelOptions> & { model: string };
let expected: number[][];
beforeAll(async () => {
  folder = randomLlama(SIZE);
  const { model } = await open({ model: folder.path, memoryBudget: 2 ** 30 });
  expected = await Promise.all(requests.map((request) => run(model, request)));
  await model.close();
  const small = { model: folder.path, contextLength: 128 };
  const { change } = await planModel({ ...small, memoryBudget: 2 ** 16, layerwiseOffload: true });
  streamed = { model: folder.path, memoryBudget: change!.memoryBudget!, layerwiseOffload: true };
});
afterAll(() => folder.remove());

describe('layers in a file', () => {
  it.each([
    ['some of them', HOST],
    ['all of them', 0],
  ])('%s', async (_, hostBudget) => {
    const { model, devices, notes } = await open(streamed, hostBudget);
    const { arena } = devices[0]!.memory();
    expect(await Promise.all(requests.map((request) => run(model, request)))).toEqual(expected);
    // Found in the prefix cache.
    expect(await run(model, requests[0]!)).toEqual(expected[0]);
    expect(notes.filter((note) => note.includes('are read from a file in every step'))).toHaveLength(1);
    expect(notes.some((note) => note.includes('are in host memory'))).toBe(hostBudget > 0);
    expect(devices[0]!.memory().arena).toBe(arena);
    await model.close();
  });

  it('are quantized ones of the cache', async () => {
    const options = { model: folder.path, quantization: 'int8' as const };
    const { model: whole } = await open({ ...options, memoryBudget: 2 ** 30 });
    const tokens = await run(whole, requests[0]!);
    await whole.close();
    const { model } = await open({ ...streamed, ...options }, HOST / 4);
    expect(await run(model, requests[0]!)).toEqual(tokens);
    await model.close();
  });

  it('take LoRAs', async () => {
    const golden = goldenModel('llama');
    const adapter = fileURLToPath(new URL('../../golden/lora/llama-all', import.meta.url));
    const options = { model: golden.path, loraPaths: [adapter] };
    const request = { ...requests[0]!, lora: 'llama-all' };
    const { model: whole } = await open({ ...options, memoryBudget: 2 ** 30 });
    const tokens = await run(whole, request);
    await whole.close();
    const small = { model: golden.path, contextLength: 128, memoryBudget: 2 ** 16, layerwiseOffload: true };
    const { change } = await planModel(small);
    const memoryBudget = change!.memoryBudget! + ADAPTER_BYTES;
    const { model, notes } = await open({ ...options, memoryBudget, layerwiseOffload: true }, 0);
    expect(await Promise.all([run(model, request), run(model, requests[0]!)])).toContainEqual(tokens);
    expect(notes.some((note) => note.includes('are read from a file'))).toBe(true);
    await model.close();
    golden.remove();
  });
});

const PLACES: [string, number][] = [
  ['host memory', Infinity],
  ['a file', 0],
];

/** Waits until some tokens have been sampled, while requests run and wait. */
async function begun(model: TextModel): Promise<void> {
  while ((await model.metrics()).generatedTokens < 4) await new Promise((resolve) => setTimeout(resolve, 2));
}

describe.each(PLACES)('requests with layers from %s', (_, hostBudget) => {
  it('go on if another one is interrupted', async () => {
    const { model } = await open(streamed, hostBudget);
    const abort = new AbortController();
    const interrupted = (async () => {
      for await (const event of model.generate(requests[0]!, { signal: abort.signal }))
        if (event.type === 'delta') abort.abort();
    })();
    const others = requests.slice(1).map((request) => run(model, request));
    await interrupted.catch(() => {});
    expect(await Promise.all(others)).toEqual(expected.slice(1));
    expect(await run(model, requests[0]!)).toEqual(expected[0]);
    expect((await model.metrics()).pages.used).toBe(0);
    const streams = requests.map((request) => collect(model.generate(request)).catch(() => null));
    await begun(model);
    await model.close();
    await Promise.all(streams);
  });
});

describe('requests go on, token for token', () => {
  beforeAll(useOwnDevices);

  it.each(PLACES)('if the device is lost while layers come from %s', async (_, hostBudget) => {
    const { model, devices } = await open(streamed, hostBudget);
    const streams = requests.map((request) => run(model, request));
    await begun(model);
    devices[0]!.destroy();
    expect(await Promise.all(streams)).toEqual(expected);
    expect(await model.metrics()).toMatchObject({ deviceRestarts: 1, running: 0, waiting: 0 });
    expect(devices).toHaveLength(2);
    await model.close();
  });

  it('if the file is cut short, and packed anew', async () => {
    const { model, notes, packed } = await open(streamed, HOST);
    const streams = requests.map((request) => run(model, request));
    await begun(model);
    truncateSync(packed.files()[0]!, 2 ** 20);
    expect(await Promise.all(streams)).toEqual(expected);
    const reason = /packed layers cannot be read .*; loading the model again/;
    expect(notes.filter((note) => reason.test(note))).toHaveLength(1);
    await model.close();
  });
});

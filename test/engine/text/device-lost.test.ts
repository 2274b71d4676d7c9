// A GPU device is lost while requests run and wait: the model is loaded again once, and every request continues to the tokens it
// would have had.

import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import type { Platform } from '../../../src/engine/platform/platform.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { withResolvers } from '../../../src/engine/async/resolvers.ts';
import type * as deviceStarter from '../../../src/gpu/node.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { collect, greedy, openGolden } from '../fixture.ts';

const devices: Device[] = [];
let refuse = false;
/** Bytes of a device with less memory than before; null: as requested. */
let room: number | null = null;

vi.mock('../../../src/gpu/node.ts', async (load) => {
  const original = await load<typeof deviceStarter>();
  return {
    ...original,
    openDevice: async (options: Parameters<typeof original.openDevice>[0]) => {
      if (refuse) throw new Error('the driver is gone');
      const device = await original.openDevice(room === null ? options : { ...options, memoryBudget: room });
      devices.push(device);
      return device;
    },
  };
});

const GOLDEN = fileURLToPath(new URL('../../golden/', import.meta.url));
const loraOf = (name: string): string => join(GOLDEN, 'lora', name);

const requests = Array.from({ length: 8 }, (_, i) => ({
  ...greedy(
    Array.from({ length: 20 + i }, (_, k) => (k * 37 + i * 11) % 250),
    60,
  ),
  ...(i % 2 === 0 ? { temperature: 1, seed: i } : {}),
}));

test('4 running and 4 waiting requests survive the loss of the device, token for token', async () => {
  const model = await openGolden('qwen3', { maxRunningRequests: 4 });
  const run = async (request: (typeof requests)[number]) => (await collect(model.generate(request))).ids[0];
  const expected = await Promise.all(requests.map(run));

  const streams = requests.map(run);
  while ((await model.metrics()).generatedTokens < 8 * 60 + 40)
    await new Promise((resolve) => setTimeout(resolve, 5));
  expect(await model.metrics()).toMatchObject({ running: 4, waiting: 4 });
  devices.at(-1)!.destroy();
  expect(await Promise.all(streams)).toEqual(expected);

  const metrics = await model.metrics();
  expect(metrics).toMatchObject({ deviceRestarts: 1, running: 0, waiting: 0 });
  expect(metrics.pages.used).toBe(0);
  expect(await run(requests[3]!)).toEqual(expected[3]);
  await model.close();
});

test('a request under which the device is lost twice ends; those that waited go on', async () => {
  const model = await openGolden('qwen3', { maxRunningRequests: 4 });
  const expected = await Promise.all(
    requests.map(async (request) => (await collect(model.generate(request))).ids[0]),
  );
  const outcomes = requests.map((request) =>
    collect(model.generate(request)).catch((error: unknown) => error),
  );
  for (let loss = 1; loss <= 2; loss++) {
    const { generatedTokens } = await model.metrics();
    while ((await model.metrics()).generatedTokens < generatedTokens + 10)
      await new Promise((resolve) => setTimeout(resolve, 2));
    expect(await model.metrics()).toMatchObject({ running: 4, waiting: 4, deviceRestarts: loss - 1 });
    devices.at(-1)!.destroy();
  }
  for (const [i, outcome] of (await Promise.all(outcomes)).entries()) {
    if (i < 4) expect(outcome).toMatchObject({ code: 'device_lost' });
    else expect(outcome).toMatchObject({ ids: [expected[i]] });
  }
  expect(await model.metrics()).toMatchObject({
    running: 0,
    waiting: 0,
    deviceRestarts: 2,
    pages: { used: 0 },
  });
  await model.close();
});

test('a loss while no request runs is not counted against the next request', async () => {
  const model = await openGolden('qwen3', { maxRunningRequests: 1 });
  const expected = (await collect(model.generate(requests[0]!))).ids;
  devices.at(-1)!.destroy();
  await vi.waitFor(() => expect(devices.at(-1)!.isLost).toBe(true));
  const stream = collect(model.generate(requests[0]!));
  while ((await model.metrics()).generatedTokens < 60 + 10)
    await new Promise((resolve) => setTimeout(resolve, 2));
  expect(await model.metrics()).toMatchObject({ running: 1, deviceRestarts: 1 });
  devices.at(-1)!.destroy();
  expect((await stream).ids).toEqual(expected);
  expect(await model.metrics()).toMatchObject({ deviceRestarts: 2 });
  await model.close();
});

test('every request ends with device_lost if no device comes back, and the process lives', async () => {
  const model = await openGolden('qwen3', { maxRunningRequests: 4 });
  const streams = requests.map(async (request) =>
    collect(model.generate(request)).catch((error: unknown) => error),
  );
  while ((await model.metrics()).generatedTokens < 10) await new Promise((resolve) => setTimeout(resolve, 5));
  refuse = true;
  devices.at(-1)!.destroy();
  for (const outcome of await Promise.all(streams)) expect(outcome).toMatchObject({ code: 'device_lost' });
  refuse = false;
  expect((await collect(model.generate(requests[0]!))).ids[0]).toHaveLength(60);
  await model.close();
});

test('the pages of a prompt in host memory outlive the device', async () => {
  const model = await openGolden('qwen3', { hostCache: 2 ** 20 });
  const request = greedy(
    Array.from({ length: 100 }, (_, k) => (k * 37) % 250),
    20,
  );
  const expected = (await collect(model.generate(request))).ids;
  while ((await model.metrics()).cache.backedUp < 96) await new Promise((resolve) => setTimeout(resolve, 2));
  devices.at(-1)!.destroy();
  expect((await collect(model.generate(request))).ids).toEqual(expected);
  expect((await collect(model.generate(request))).ids).toEqual(expected);
  expect(await model.metrics()).toMatchObject({ deviceRestarts: 1, cache: { loadedBack: 96 } });
  await model.close();
});

test('LoRAs survive the loss of the device: of options, loaded later, unloaded under a request', async () => {
  const { cases } = JSON.parse(readFileSync(`${GOLDEN}lora.json`, 'utf8')) as {
    cases: { name: string; greedy: { prompt_ids: number[]; tokens: number[] } }[];
  };
  const wanted = (name: string) => cases.find((of) => of.name === `${name}.stored`)!.greedy;
  const model = await openGolden('llama', { loraPaths: [`all=${loraOf('llama-all')}`] });
  await model.loadLora('some', loraOf('llama-some'));
  await model.loadLora('again', loraOf('llama-all'));
  const run = async (lora: string, from: string, onToken: () => void = () => {}) => {
    const got: number[] = [];
    const { prompt_ids: prompt, tokens } = wanted(from);
    for await (const event of model.generate({ ...greedy(prompt, 32), lora })) {
      if (event.type === 'delta') got.push(...event.ids);
      if (got.length === 5) onToken();
    }
    expect(got, lora).toEqual(tokens);
  };
  let unloaded: Promise<unknown> = Promise.resolve();
  const unload = () => {
    unloaded = model.unloadLora('again').then(() => devices.at(-1)!.destroy());
  };
  await Promise.all([run('all', 'llama-all'), run('some', 'llama-some'), run('again', 'llama-all', unload)]);
  await unloaded;
  expect((await model.metrics()).deviceRestarts).toBe(1);
  expect((await model.loadedLoras()).map(({ name }) => name).toSorted()).toEqual(['all', 'some']);
  await run('some', 'llama-some');
  await run('all', 'llama-all');
  await model.close();
});

test('a LoRA whose folder is gone ends its requests, and no others', async () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-lora-gone-'));
  cpSync(loraOf('llama-some'), join(home, 'some'), { recursive: true });
  const model = await openGolden('llama', { loraPaths: [loraOf('llama-all'), join(home, 'some')] });
  const ids = Array.from({ length: 20 }, (_, k) => (k * 37) % 250);
  const alone = (await collect(model.generate(greedy(ids, 60)))).ids;
  const outcome = (lora: string) =>
    collect(model.generate({ ...greedy(ids, 60), lora })).catch((error: unknown) => error);
  const streams = [collect(model.generate(greedy(ids, 60))), outcome('llama-all'), outcome('some')] as const;
  while ((await model.metrics()).generatedTokens < 90) await new Promise((resolve) => setTimeout(resolve, 2));
  rmSync(home, { recursive: true });
  devices.at(-1)!.destroy();
  const [plain, kept, gone] = await Promise.all(streams);
  expect(plain.ids).toEqual(alone);
  expect(kept).toMatchObject({ ids: [expect.any(Array)] });
  expect(gone).toMatchObject({ code: 'model_not_found', message: expect.stringContaining('some') as string });
  expect((await model.loadedLoras()).map(({ name }) => name)).toEqual(['llama-all']);
  expect((await collect(model.generate(greedy(ids, 60)))).ids).toEqual(alone);
  await model.close();
});

test('a LoRA that is gone ends a request that was not admitted yet', async () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-lora-gone-'));
  cpSync(loraOf('llama-some'), join(home, 'some'), { recursive: true });
  const place = nodePlatform as Platform & Record<'openPageStore', NonNullable<Platform['openPageStore']>>;
  const storage = await place.openPageStore({
    where: join(home, 'pages'),
    most: 2 ** 20,
    checkpoint: { path: home, shards: [], beside: null },
    computed: '',
    onTrouble: () => {},
  });
  // The read from storage lasts until the device is back.
  const { promise: looked, resolve: look } = withResolvers<number>();
  const looking = vi.spyOn(storage, 'leading').mockReturnValue(looked);
  const opening = vi.spyOn(place, 'openPageStore').mockResolvedValue(storage);
  const model = await openGolden('llama', { loraPaths: [join(home, 'some')], storageCache: home });
  opening.mockRestore();
  const ids = Array.from({ length: 40 }, (_, k) => (k * 37) % 250);
  const early = collect(model.generate({ ...greedy(ids, 4), lora: 'some' })).catch((error: unknown) => error);
  await vi.waitFor(() => expect(looking).toHaveBeenCalledOnce());
  rmSync(join(home, 'some'), { recursive: true });
  devices.at(-1)!.destroy();
  await collect(model.generate(greedy([1, 2, 3], 4))); // finds the loss
  look(0);
  expect(await early).toMatchObject({ code: 'model_not_found' });
  await model.close();
  rmSync(home, { recursive: true });
});

test('a device with room for fewer pages does not replace the lost one', async () => {
  const model = await openGolden('qwen3', { maxRunningRequests: 4 });
  const { weights, kv, arena } = model.info.memory;
  const run = (request: (typeof requests)[number]) => collect(model.generate(request));
  const expected = await run(requests[1]!);
  room = weights + arena + kv / 2;
  const streams = requests.map((request) => run(request).catch((error: unknown) => error));
  while ((await model.metrics()).generatedTokens < 80) await new Promise((resolve) => setTimeout(resolve, 5));
  devices.at(-1)!.destroy();
  for (const outcome of await Promise.all(streams)) expect(outcome).toMatchObject({ code: 'device_lost' });
  room = null;
  expect(await run(requests[1]!)).toEqual(expected);
  await model.close();
});

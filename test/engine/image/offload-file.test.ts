// Layers for which host memory has no room are read from the cache of packed weights: images have the bits of a model on the device, in
// the memory that the plan states, and a file that is damaged under way loses one image.

import { createHash } from 'node:crypto';
import { statSync, truncateSync, unlinkSync } from 'node:fs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type {
  ImageEvent,
  ImageModelOptions,
  CompleteImageRequest,
} from '../../../src/engine/image/calls/image-model.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline } from '../../../src/host/open.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import type { Platform } from '../../../src/engine/platform/platform.ts';
import { EngineError } from '../../../src/files/error.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { ownPackedCache, type OwnPackedCache } from '../own-packed-cache.ts';
import { goldenRequest, imagesOf, listen, tinyPipeline } from './pipeline-golden.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const REQUEST = { prompt: 'a house', seed: 1, width: 32, height: 32, steps: 2, guidance: 0 };
const LAYERWISE = { ditLayerwiseOffload: true };
const TOLERANCE = 0.05;
/** Bytes of host memory for about a third of the layers of a tiny denoiser. */
const HOST = 520 * 2 ** 10;

/** Packing takes memory that reading a packed file does not take. */
let packed: OwnPackedCache;
beforeEach(() => void (packed = ownPackedCache()));
const storedFile = (): string => packed.files().find((name) => name.includes('stored'))!;

/** Opens a model on a host with little memory for weights. */
function open(options: Partial<ImageModelOptions>, hostBudget: number, others: Partial<Platform> = {}) {
  const devices: Device[] = [];
  const platform: Platform = {
    ...nodePlatform,
    async openDevice(given) {
      const device = await nodePlatform.openDevice(given);
      device.host.budget = hostBudget;
      devices.push(device);
      return device;
    },
    packed,
    ...others,
  };
  const model = openInline(IMAGE, platform, { model: tinyPipeline('z-image'), ...options });
  return model.then((opened) => ({ model: opened, device: devices[0]! }));
}

const bits = (events: readonly ImageEvent[]): string[] =>
  imagesOf(events).map(({ data }) => createHash('sha256').update(data).digest('hex'));

async function draw(
  options: Partial<ImageModelOptions>,
  hostBudget = Infinity,
  request: CompleteImageRequest = REQUEST,
) {
  const { model, device } = await open(options, hostBudget);
  try {
    const plan = await model.plan(request);
    // The second image is drawn with all that stays.
    const events = [...(await listen(model, request)), ...(await listen(model, request))];
    const peaks = events.flatMap((event) => (event.type === 'stage' ? [event.peakBytes] : []));
    const [first, second] = bits(events);
    expect(second).toBe(first);
    return { plan, peak: Math.max(...peaks), host: device.host.takePeak(), image: first! };
  } finally {
    await model.close();
  }
}

/** Images of a model on the device by its quantization, each drawn once. */
const wholes = new Map<string, Promise<string>>();

function wholeImage(quantization: NonNullable<ImageModelOptions['quantization']>): Promise<string> {
  const image = wholes.get(quantization) ?? draw({ quantization }).then((drawn) => drawn.image);
  wholes.set(quantization, image);
  return image;
}

describe('layers that are streamed from a file', () => {
  it.each<[string, Partial<ImageModelOptions>, number]>([
    ['some of them', LAYERWISE, HOST],
    ['all of them', LAYERWISE, 0],
    ['with two layers ahead', { ...LAYERWISE, ditOffloadPrefetch: 2, ditLayerwiseResidentLayers: 1 }, HOST],
    ['quantized', { ...LAYERWISE, quantization: 'int8' }, HOST / 2],
    ['by a budget', { memoryBudget: 1.5 * 2 ** 20 }, HOST / 4],
  ])('%s', async (_, options, hostBudget) => {
    const { quantization = 'none' } = options;
    const { plan, peak, host, image } = await draw(options, hostBudget);
    expect(image).toBe(await wholeImage(quantization));
    const denoiser = plan.components.find(({ name }) => name === 'transformer')!;
    expect(denoiser.place).toBe('streamed');
    expect(denoiser.fromFile).toBeGreaterThan(0);
    expect(Math.abs(peak / plan.peak - 1)).toBeLessThan(TOLERANCE);
    expect(Math.abs(host / plan.host - 1)).toBeLessThan(TOLERANCE);
    // Five reads of the largest matrix are the least that a file needs.
    expect(plan.host).toBeLessThanOrEqual(hostBudget + 5 * 2 ** 15);
  });

  it('are packed once for all openings, and packed anew where the file was damaged', async () => {
    const { image } = await draw(LAYERWISE, HOST);
    const file = storedFile();
    const { mtimeMs, size } = statSync(file);
    expect((await draw(LAYERWISE, HOST)).image).toBe(image);
    expect(statSync(file).mtimeMs).toBe(mtimeMs);
    truncateSync(file, size - 1000);
    expect((await draw(LAYERWISE, HOST)).image).toBe(image);
    expect(statSync(file).size).toBe(size);
  });
});

describe('an image whose layers are read from a file', () => {
  it('ends with the reason if the file is cut short, and the next one has the same bits', async () => {
    const { model } = await open(LAYERWISE, 0);
    const expected = bits(await listen(model, REQUEST));
    const file = storedFile();
    const run = async (): Promise<void> => {
      for await (const event of model.generate({ ...REQUEST, steps: 8 }))
        if (event.type === 'step') truncateSync(file, 2 ** 20);
    };
    await expect(run()).rejects.toMatchObject({
      code: 'bad_checkpoint',
      message: expect.stringMatching(
        /^packed layers cannot be read from the cache \(.* was (cut short|written to).*: try again/,
      ) as string,
    });
    expect(bits(await listen(model, REQUEST))).toEqual(expected);
    await model.close();
  });

  it('goes on if the file is removed, and ends with an interrupt', async () => {
    const { model } = await open(LAYERWISE, HOST);
    const expected = bits(await listen(model, REQUEST));
    for (const file of packed.files()) unlinkSync(file);
    expect(bits(await listen(model, REQUEST))).toEqual(expected);
    const abort = new AbortController();
    const run = async (): Promise<void> => {
      for await (const event of model.generate(REQUEST, { signal: abort.signal }))
        if (event.type === 'step') abort.abort();
    };
    await expect(run()).rejects.toMatchObject({ code: 'cancelled' });
    expect(bits(await listen(model, REQUEST))).toEqual(expected);
    await model.close();
  });
});

describe('LoRAs of streamed layers', () => {
  it.each<[Partial<ImageModelOptions>]>([[{}], [{ quantization: 'int8' }]])(
    'are merged into layers in a file, which is removed afterwards: %j',
    async (options) => {
      const { options: golden, request } = await goldenRequest('lora-z-image');
      const folder = new URL('../../golden/image/lora-z-image/', import.meta.url).pathname;
      const given = { ...golden, ...options, loraPath: [`${folder}adapter-0.safetensors`] };
      const one = { ...request, samples: 1 };
      const whole = await draw(given, Infinity, one);
      const { model } = await open({ ...given, ...LAYERWISE }, HOST / 2);
      const drawn = async (more: Partial<CompleteImageRequest>): Promise<string> =>
        bits(await listen(model, { ...one, ...more }))[0]!;
      expect(await drawn({})).toBe(whole.image);
      const adapted = (): string[] => packed.files().filter((name) => name.includes('adapted'));
      expect(adapted()).toHaveLength(1);
      const without = await drawn({ lora: [] });
      expect(without).not.toBe(whole.image);
      expect(await drawn({})).toBe(whole.image);
      await model.close();
      expect(adapted()).toEqual([]);
    },
  );
});

describe('an image whose layers have no file', () => {
  const full = new EngineError('disk_full', 'no room left for the packed weights: free some');
  const slot = { read: async () => null, remove: async () => {} };

  it.each([
    ['a full disk', { ...slot, write: () => Promise.reject(full) }, /^no room left for the packed weights/],
    [
      'files of no known version',
      { ...slot, write: async () => {} },
      /^host memory has no room for .* choose `quantization` int4/,
    ],
  ])('is refused: %s', async (_, made, message) => {
    const { model } = await open(LAYERWISE, HOST, { packed: { slot: async () => made } });
    await expect(listen(model, REQUEST)).rejects.toThrow(message);
    await model.close();
  });

  it('is lost on a full disk, and the next one is drawn where room was made', async () => {
    let isFull = true;
    const cache: Platform['packed'] = {
      async slot(origin) {
        const own = await packed.slot(origin);
        return { ...own, write: (entries) => (isFull ? Promise.reject(full) : own.write(entries)) };
      },
    };
    const { model } = await open(LAYERWISE, HOST, { packed: cache });
    await expect(listen(model, REQUEST)).rejects.toMatchObject({ code: 'disk_full' });
    isFull = false;
    const { image } = await draw({});
    expect(bits(await listen(model, REQUEST))).toEqual([image]);
    await model.close();
  });

  it('is refused with the smallest change that fits', async () => {
    const kept = { ditCpuOffload: true };
    const { model } = await open(kept, HOST);
    await expect(listen(model, REQUEST)).rejects.toThrow(
      /takes .* of host memory for weights, of which 520 KiB are free: leave out `ditCpuOffload`, or close other programs$/,
    );
    await model.close();
    const { model: least } = await open(LAYERWISE, HOST, { packed: null });
    await expect(listen(least, REQUEST)).rejects.toThrow(/leave out `ditLayerwiseOffload`/);
    await least.close();
  });
});

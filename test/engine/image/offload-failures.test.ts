// What goes wrong while weights are streamed loses that image only, and errors of memory name a change with which the image is drawn.

import { beforeAll, describe, expect, it, vi } from 'vitest';
import { imagesOf, listen, tinyPipeline } from './pipeline-golden.ts';
import type { ImageModelOptions } from '../../../src/engine/image/calls/image-model.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline } from '../../../src/host/open.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import type { Platform } from '../../../src/engine/platform/platform.ts';
import type { EngineError } from '../../../src/files/error.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { useOwnDevices } from '../kept-devices.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
beforeAll(useOwnDevices);

const MODEL = tinyPipeline('z-image');
const REQUEST = { prompt: 'a house', seed: 1, width: 32, height: 32, steps: 3, guidance: 0 };
const LAYERWISE = { ditLayerwiseOffload: true };

/** Opens the model; `onDevice` is called for each device. */
function open(options: Partial<ImageModelOptions>, onDevice: (device: Device) => void = () => {}) {
  const platform: Platform = {
    ...nodePlatform,
    async openDevice(given) {
      const device = await nodePlatform.openDevice(given);
      onDevice(device);
      return device;
    },
  };
  return openInline(IMAGE, platform, { model: MODEL, ...options });
}

async function draw(options: Partial<ImageModelOptions>, onDevice?: (device: Device) => void) {
  await using model = await open(options, onDevice);
  return imagesOf(await listen(model, REQUEST));
}

const refused = (options: Partial<ImageModelOptions>): Promise<EngineError> =>
  draw(options).then(
    () => expect.fail('it is drawn'),
    (error: EngineError) => error,
  );

describe('an image whose layers are streamed', () => {
  it('ends if the device is lost, and the next one has the same bits', async () => {
    const devices: Device[] = [];
    await using model = await open(LAYERWISE, (device) => devices.push(device));
    const before = imagesOf(await listen(model, REQUEST));
    const run = async (): Promise<void> => {
      for await (const event of model.generate(REQUEST)) if (event.type === 'step') devices[0]!.destroy();
    };
    await expect(run()).rejects.toMatchObject({ code: 'device_lost' });
    expect(imagesOf(await listen(model, REQUEST))).toEqual(before);
    expect(devices).toHaveLength(2);
    expect(devices[1]!.host.bytes).toBeGreaterThan(0);
  });

  it('ends with an interrupt, and the next one has the same bits', async () => {
    await using model = await open(LAYERWISE);
    const before = imagesOf(await listen(model, REQUEST));
    const abort = new AbortController();
    const run = async (): Promise<void> => {
      for await (const event of model.generate(REQUEST, { signal: abort.signal }))
        if (event.type === 'step') abort.abort();
    };
    await expect(run()).rejects.toMatchObject({ code: 'cancelled' });
    expect(imagesOf(await listen(model, REQUEST))).toEqual(before);
  });
});

/** Makes a device behave as if it had fewer bytes than its budget. */
function shrink({ gpu }: Device, room: number): void {
  const sizes = new Map<GPUBuffer, number>();
  const scopes: (GPUOutOfMemoryError | null)[] = [];
  const create = gpu.createBuffer.bind(gpu);
  const [push, pop] = [gpu.pushErrorScope.bind(gpu), gpu.popErrorScope.bind(gpu)];
  gpu.createBuffer = (descriptor) => {
    const isHost = (descriptor.usage & 3) !== 0; // mapped by the CPU
    const used = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    if (!isHost && used + descriptor.size > room && scopes.length > 0)
      scopes[scopes.length - 1] = new GPUOutOfMemoryError('no room');
    const buffer = create(descriptor);
    if (isHost) return buffer;
    sizes.set(buffer, descriptor.size);
    const destroy = buffer.destroy.bind(buffer);
    buffer.destroy = () => {
      sizes.delete(buffer);
      destroy();
      return undefined;
    };
    return buffer;
  };
  gpu.pushErrorScope = (filter) => {
    scopes.push(null);
    push(filter);
    return undefined;
  };
  gpu.popErrorScope = async () => {
    const error = scopes.pop() ?? null;
    return (await pop()) ?? error;
  };
}

describe('the change that an error of memory names is enough', () => {
  const MIB = 2 ** 20;

  it('if the GPU has less memory than the budget', async () => {
    const expected = await draw({});
    const room = 2.5 * MIB;
    const options = { memoryBudget: 2 ** 30 };
    const error = await draw(options, (device) => shrink(device, room)).then(
      () => expect.fail('it is drawn'),
      (caught: EngineError) => caught,
    );
    expect(error).toMatchObject({ code: 'out_of_memory' });
    const [, mib] = /lower `memoryBudget` to (\d+)MiB/.exec(error.message)!;
    const memoryBudget = Number(mib) * MIB;
    expect(memoryBudget).toBeLessThanOrEqual(room);
    expect(await draw({ memoryBudget }, (device) => shrink(device, room))).toEqual(expected);
  });

  it('if a budget is too small for it', async () => {
    const expected = await draw({});
    const error = await refused({ memoryBudget: 0.8 * MIB });
    const [, mib] = /raise `memoryBudget` to (\d+)MiB/.exec(error.message)!;
    expect(await draw({ memoryBudget: Number(mib) * MIB })).toEqual(expected);
  });

  it.each([
    [2.1, { ditCpuOffload: false }, 'leave out `ditCpuOffload`'],
    [2.1, { ditCpuOffload: false, textEncoderCpuOffload: true }, 'leave out `ditCpuOffload`'],
    [1.8, { ditCpuOffload: false, vaeCpuOffload: false }, 'leave out `ditCpuOffload`'],
  ])('if options keep weights on the device: %d MiB, %j', async (mib, kept, change) => {
    const expected = await draw({});
    const memoryBudget = Math.floor(mib * MIB);
    const { message } = await refused({ memoryBudget, ...kept });
    expect(message).toContain(`: ${change}, or raise`);
    const left = Object.entries(kept).filter(([name]) => !change.includes(name));
    expect(await draw({ memoryBudget, ...Object.fromEntries(left) })).toEqual(expected);
  });
});

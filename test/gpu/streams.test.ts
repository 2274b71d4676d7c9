// Operands in host memory and in files: tapes bring them into the arena for the dispatches that bind them.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Device } from '../../src/gpu/device.ts';
import type { StoredBytes } from '../../src/gpu/host-buffers.ts';
import { fillHost, readPieces } from '../../src/gpu/host-memory.ts';
import { Streams } from '../../src/gpu/streams.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Region, Tensor } from '../../src/gpu/tensor.ts';
import { openTestDevice } from './test-device.ts';

const ADD = `@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) { y[id.x] = x[id.x] * 2.0 + w[id.x]; }`;

const ROWS = 16;
const BYTES = ROWS * 32 * 4;

function region(size: number): Region {
  return { buffer: {} as GPUBuffer, offset: 0, size };
}

describe('stream units of a tape', () => {
  const [a, b, c, d] = [1, 2, 3, 4].map((size) => region(size * 1000));
  const bound = [[a!], [], [b!], [c!], [d!]];
  const livesOf = (prefetch: number, cuts: number[], regions = bound, forks: number[] = []) =>
    new Streams(regions, { cuts, forks }, prefetch).lives.map(({ first, last }) => [first, last]);

  it('copies a region as many units ahead as asked', () => {
    const cuts = [2, 3, 4];
    expect(livesOf(0, cuts)).toEqual([
      [0, 0],
      [2, 2],
      [3, 3],
      [4, 4],
    ]);
    expect(livesOf(1, cuts)).toEqual([
      [0, 0],
      [0, 2],
      [2, 3],
      [3, 4],
    ]);
    expect(livesOf(9, cuts)).toEqual([
      [0, 0],
      [0, 2],
      [0, 3],
      [0, 4],
    ]);
  });

  it('copies nothing ahead of a fork, behind which a replay may begin', () => {
    expect(livesOf(9, [2, 3, 4], bound, [3])).toEqual([
      [0, 0],
      [0, 2],
      [3, 3],
      [3, 4],
    ]);
    const twice = [[a!], [a!], [b!]];
    expect(livesOf(1, [1, 2], twice)).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect(livesOf(1, [1, 2], twice, [1])).toEqual([
      [0, 0],
      [1, 1],
      [1, 2],
    ]);
  });

  it('divides a segment that binds much', () => {
    expect(livesOf(0, [])).toEqual([
      [0, 0],
      [2, 2],
      [3, 3],
      [4, 4],
    ]);
  });

  it('keeps a region for the next unit, and copies it again for a later one', () => {
    const again = [[a!], [a!, b!], [c!], [a!]];
    expect(livesOf(0, [1, 2, 3], again)).toEqual([
      [0, 1],
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });
});

describe('replaying a tape with streamed weights', () => {
  let opened: Device;
  let device: Device;
  beforeEach(async () => {
    opened = await openTestDevice();
    const { gpu, summary } = opened;
    device = new Device(gpu, { shaders: () => ADD, summary, memoryBudget: 2 ** 20 });
  });
  afterEach(() => opened.destroy());

  const values = (seed: number): Float32Array<ArrayBuffer> =>
    Float32Array.from({ length: ROWS * 32 }, (_, i) => ((i * 7 + seed * 13) % 101) / 8);

  /** Reads of files, in order, as names. */
  const reads: string[] = [];

  async function weights(
    layers: number,
    place: (layer: number) => 'device' | 'host' | 'file',
  ): Promise<Tensor[]> {
    return Promise.all(
      Array.from({ length: layers }, async (_, i) => {
        const tensor = device.tensor('weights', `w${i}`, [ROWS, 32], values(i));
        if (place(i) === 'device') return tensor;
        if (place(i) === 'file') {
          device.free(tensor.region!.buffer);
          const buffer = device.host.store(`w${i}`);
          device.host.storedAt(buffer, fileOf(i));
          tensor.place({ buffer, offset: 0, size: BYTES });
          return tensor;
        }
        const buffer = device.allocateHost(`w${i}`, BYTES);
        await fillHost(buffer, readPieces(device, tensor.region!));
        device.free(tensor.region!.buffer);
        tensor.place({ buffer, offset: 0, size: buffer.size });
        return tensor;
      }),
    );
  }

  function fileOf(layer: number): StoredBytes {
    const bytes = new Uint8Array(values(layer).buffer);
    return {
      async readInto(offset, target) {
        reads.push(`w${layer}`);
        // Later reads end earlier.
        await new Promise((resolve) => setTimeout(resolve, layer === 0 ? 2 : 0));
        if (broken.has(layer)) throw new Error(`w${layer} is gone`);
        target.set(bytes.subarray(offset, offset + target.length));
      },
    };
  }

  /** Layers whose file cannot be read. */
  const broken = new Set<number>();

  /** Runs the layers twice in a tape, and the tape twice; returns its result and the bytes of the arena. */
  async function run(layers: readonly Tensor[], prefetch: number): Promise<[number[], number]> {
    device.prefetch = prefetch;
    const input = device.tensor('step', 'x', [ROWS, 32], values(99));
    const tape = new Tape(device, {});
    let x = input.on(tape);
    for (const w of [...layers, ...layers]) {
      const y = tape.tensor([ROWS, 32]);
      tape.dispatch('add.wgsl', { bind: { x, w, y }, groups: () => [ROWS] });
      x = y;
      tape.cut();
    }
    tape.keep(x);
    tape.finish();
    if (tape.waits) expect(() => tape.run({})).toThrow('the tape waits for files or other devices');
    await tape.replay({});
    await tape.replay({}, { submitEvery: 1 });
    const bytes = device.memory().arena;
    const result = [...new Float32Array(await device.read(tape.region(x)))];
    tape.destroy();
    device.arena.clear();
    expect(device.takeError()).toBeNull();
    return [result, bytes];
  }

  it('computes the same bits as with weights on the device, in less memory', async () => {
    const [expected, activations] = await run(await weights(9, () => 'device'), 1);
    const streamed = await weights(9, () => 'host');
    expect(device.host.bytes).toBe(9 * BYTES);
    for (const prefetch of [0, 1, 3]) {
      const [result, bytes] = await run(streamed, prefetch);
      expect(result).toEqual(expected);
      expect(bytes).toBe(activations + (1 + prefetch) * BYTES);
    }
  });

  it('computes the same bits with weights in files, of which it reads each as often as a copy is made', async () => {
    const [expected, activations] = await run(await weights(9, () => 'device'), 1);
    const streamed = await weights(9, (layer) => (layer % 3 === 0 ? 'host' : 'file'));
    expect(device.host.bytes).toBe(3 * BYTES);
    for (const prefetch of [0, 1, 3]) {
      reads.length = 0;
      device.host.takePeak();
      const [result, bytes] = await run(streamed, prefetch);
      expect(result).toEqual(expected);
      expect(bytes).toBe(activations + (1 + prefetch) * BYTES);
      expect(reads).toHaveLength(2 * 2 * 6);
      // Four regions are being read, and those before a dispatch are on their way to the device.
      expect(device.host.takePeak()).toBe((3 + 4 + (prefetch === 3 ? 2 : 1)) * BYTES);
      expect(device.host.bytes).toBe(3 * BYTES);
    }
  });

  it('ends with the error of a file that cannot be read, and runs again when it can', async () => {
    const streamed = await weights(5, () => 'file');
    const [expected] = await run(streamed, 1);
    broken.add(3);
    await expect(run(streamed, 1)).rejects.toThrow('w3 is gone');
    broken.clear();
    device.arena.clear();
    expect((await run(streamed, 1))[0]).toEqual(expected);
  });

  it('is refused where a kernel would write to it', async () => {
    const [w] = await weights(1, () => 'host');
    const tape = new Tape(device, {});
    const x = tape.tensor([ROWS, 32]);
    expect(() => tape.dispatch('add.wgsl', { bind: { x, w: x, y: w! }, groups: () => [1] })).toThrow(
      'add.wgsl: y is not on the device, and the kernel would write to a copy of it',
    );
  });
});

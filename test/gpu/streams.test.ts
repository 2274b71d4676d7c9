// Operands in host memory: tapes copy them into the arena for the dispatches that bind them.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Device } from '../../src/gpu/device.ts';
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

describe('units of a tape', () => {
  const [a, b, c, d] = [1, 2, 3, 4].map((size) => region(size * 1000));
  const bound = [[a!], [], [b!], [c!], [d!]];
  const livesOf = (prefetch: number, cuts: number[], regions = bound) =>
    new Streams(regions, cuts, prefetch).lives.map(({ first, last }) => [first, last]);

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

describe('replaying', () => {
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

  async function weights(layers: number, inHost: boolean): Promise<Tensor[]> {
    return Promise.all(
      Array.from({ length: layers }, async (_, i) => {
        const tensor = device.tensor('weights', `w${i}`, [ROWS, 32], values(i));
        if (!inHost) return tensor;
        const buffer = device.allocateHost(`w${i}`, BYTES);
        await fillHost(buffer, readPieces(device, tensor.region!));
        device.free(tensor.region!.buffer);
        tensor.place({ buffer, offset: 0, size: buffer.size });
        return tensor;
      }),
    );
  }

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
    tape.run({});
    tape.run({}, { submitEvery: 1 });
    const bytes = device.memory().arena;
    const result = [...new Float32Array(await device.read(tape.region(x)))];
    tape.destroy();
    device.arena.clear();
    expect(device.takeError()).toBeNull();
    return [result, bytes];
  }

  it('computes the same bits as with weights on the device, in less memory', async () => {
    const [expected, activations] = await run(await weights(9, false), 1);
    const streamed = await weights(9, true);
    expect(device.hostBytes).toBe(9 * BYTES);
    for (const prefetch of [0, 1, 3]) {
      const [result, bytes] = await run(streamed, prefetch);
      expect(result).toEqual(expected);
      expect(bytes).toBe(activations + (1 + prefetch) * BYTES);
    }
  });

  it('is refused where a kernel would write to it', async () => {
    const [w] = await weights(1, true);
    const tape = new Tape(device, {});
    const x = tape.tensor([ROWS, 32]);
    expect(() => tape.dispatch('add.wgsl', { bind: { x, w: x, y: w! }, groups: () => [1] })).toThrow(
      'add.wgsl: y lies in host memory, and the kernel would write to a copy of it',
    );
  });
});

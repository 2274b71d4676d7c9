// Recording and replaying, on kernels of a few lines.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Device } from '../../src/gpu/device.ts';
import { Tape, type Dispatch, type Operand } from '../../src/gpu/tape.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { openTestDevice, TEST_BUDGET } from './test-device.ts';

/** y = x · factor + offset, elementwise over rows of 32. */
const AFFINE = `struct Args { factor: f32, offset: i32, }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) { y[id.x] = x[id.x] * args.factor + f32(args.offset); }`;

/** y += 1, in place. */
const INCREMENT = `@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) { y[id.x] += 1.0; }`;

let opened: Device;
let device: Device;
beforeEach(async () => {
  opened = await openTestDevice();
  device = new Device(opened.gpu, {
    shaders: (path) => (path === 'affine.wgsl' ? AFFINE : INCREMENT),
    summary: opened.summary,
    memoryBudget: TEST_BUDGET,
    bindingLimit: 1 << 20,
  });
});
afterEach(() => opened.destroy());

function affine(tape: Tape, x: Tensor, factor: number, offset: number): Tensor {
  const y = tape.tensor(x.tape ? x.shape : ['rows', 32]);
  tape.dispatch('affine.wgsl', {
    args: { factor, offset },
    bind: { x, y },
    groups: (sizes) => [y.rows(sizes)],
  });
  return y;
}

function increment(tape: Tape, y: Tensor): void {
  tape.dispatch('increment.wgsl', { bind: { y }, groups: (sizes) => [y.rows(sizes)] });
}

function source(rows: number): Tensor {
  const values = Float32Array.from({ length: rows * 32 }, (_, i) => i);
  return device.tensor('weights', 'x', [rows, 32], values);
}

async function read(tape: Tape, y: Tensor): Promise<number[]> {
  const floats = new Float32Array(await device.read(tape.region(y)));
  expect(device.takeError()).toBeNull();
  return Array.from(floats);
}

describe('recording a tape', () => {
  let tape: Tape;
  let x: Tensor;
  const record = (dispatch: Partial<Dispatch>) =>
    tape.dispatch('affine.wgsl', {
      args: { factor: 1, offset: 0 },
      bind: { x, y: tape.tensor(['rows', 32]) },
      groups: () => [1],
      ...dispatch,
    });
  beforeEach(() => {
    tape = new Tape(device, { rows: 4 });
    x = source(4);
  });

  it('names operands that are missing or unknown', () => {
    expect(() => record({ bind: { x } })).toThrow('affine.wgsl: operands missing [y], unknown []');
    expect(() => record({ bind: { x, y: x, z: x } })).toThrow(
      'affine.wgsl: operands missing [], unknown [z]',
    );
  });

  it('names arguments that are missing or unknown', () => {
    expect(() => record({ args: {} })).toThrow('affine.wgsl: arguments missing [factor, offset], unknown []');
    expect(() => record({ args: { factor: 1, offset: 0, eps: 1 } })).toThrow('missing [], unknown [eps]');
  });

  it('refuses a tensor of another tape', () => {
    const foreign = new Tape(device, { rows: 4 }).tensor(['rows', 32]);
    expect(() => record({ bind: { x: foreign, y: tape.tensor(['rows', 32]) } })).toThrow(
      'affine.wgsl: x was recorded on another tape',
    );
  });

  it('refuses bytes of another device, and more workgroups than the adapter takes', () => {
    const other = new Device(opened.gpu, {
      shaders: () => AFFINE,
      summary: opened.summary,
      memoryBudget: TEST_BUDGET,
    });
    const foreign = other.tensor('weights', 'x', [4, 32], new Float32Array(128));
    expect(() => record({ bind: { x: foreign, y: tape.tensor(['rows', 32]) } })).toThrow(
      'affine.wgsl: x lies on another device',
    );
    record({ groups: ({ rows = 0 }) => [rows * 1e6] });
    expect(() => tape.finish()).toThrow(/affine\.wgsl: .*4000000/);
  });

  it('refuses what no binding spans', () => {
    const wide = tape.tensor(['rows', 1 << 17]);
    expect(() => record({ bind: { x, y: wide } })).toThrow(
      'affine.wgsl: y spans 2097152 bytes, a binding at most 1048576',
    );
  });

  it('ends with finish', () => {
    expect(() => tape.run({ rows: 1 })).toThrow('the tape is not finished');
    record({});
    tape.finish();
    expect(() => record({})).toThrow('the tape is finished');
  });

  it('wants every size to have a capacity', () => {
    expect(() => record({ bind: { x, y: tape.tensor(['tokens', 32]) } })).toThrow(
      'no size is called tokens; there are rows',
    );
  });
});

describe('replaying a tape', () => {
  it('computes, with arguments of each kind', async () => {
    const tape = new Tape(device, { rows: 3 });
    const y = tape.keep(affine(tape, affine(tape, source(3), 0.5, -7), -2, 3));
    tape.finish();
    tape.run({ rows: 3 });
    expect(await read(tape, y)).toEqual(Array.from({ length: 96 }, (_, i) => (i * 0.5 - 7) * -2 + 3));
  });

  it('computes only the rows asked for, again and again', async () => {
    const tape = new Tape(device, { rows: 4 });
    const y = tape.keep(affine(tape, source(4), 1, 1));
    tape.finish();
    for (const rows of [2, 0, 4, 1]) {
      device.gpu.queue.writeBuffer(tape.region(y).buffer, 0, new Float32Array(128).fill(-1));
      tape.run({ rows });
      const got = await read(tape, y);
      expect(got).toEqual(Array.from({ length: 128 }, (_, i) => (i < rows * 32 ? i + 1 : -1)));
    }
  });

  it('refuses more rows than the capacity', () => {
    const tape = new Tape(device, { rows: 4 });
    affine(tape, source(4), 1, 1);
    tape.finish();
    expect(() => tape.run({ rows: 5 })).toThrow("5 rows exceed the tape's 4");
    expect(() => tape.run({ rows: 1, tiles: 1 })).toThrow("1 tiles exceed the tape's undefined");
  });

  it('works in place', async () => {
    const tape = new Tape(device, { rows: 2 });
    const y = affine(tape, source(2), 1, 0);
    increment(tape, y);
    increment(tape, y);
    tape.keep(y);
    tape.finish();
    tape.run({ rows: 2 });
    expect(await read(tape, y)).toEqual(Array.from({ length: 64 }, (_, i) => i + 2));
  });

  it('comes to the same however its segments are submitted, with copies after the last', async () => {
    const tape = new Tape(device, { rows: 2 });
    let y = affine(tape, source(2), 1, 0);
    for (let i = 0; i < 7; i++) {
      y = affine(tape, y, 1, i);
      tape.cut();
      tape.cut();
    }
    y = tape.keep(affine(tape, y, 2, 0));
    tape.finish();
    expect([tape.dispatchCount, tape.segmentCount]).toEqual([9, 8]);
    const copy = device.allocate('step', 'copy', 256);
    for (const submitEvery of [1, 2, 3, 8, 100]) {
      device.gpu.queue.writeBuffer(copy, 0, new Uint8Array(256));
      const { buffer } = tape.region(y);
      const last = (encoder: GPUCommandEncoder) => encoder.copyBufferToBuffer(buffer, 0, copy, 0, 256);
      tape.run({ rows: 2 }, { submitEvery, last });
      const copied = new Float32Array(await device.read({ buffer: copy, offset: 0, size: 256 }));
      expect(Array.from(copied)).toEqual(Array.from({ length: 64 }, (_, i) => 2 * (i + 21)));
    }
    expect(device.takeError()).toBeNull();
  });
});

describe('a slice of rows', () => {
  const rows = (tensor: Tensor, firstRow: number, count: number) => ({ tensor, firstRow, rows: count });
  const at = (tape: Tape, x: Operand, y: Operand, offset: number): void =>
    tape.dispatch('affine.wgsl', { args: { factor: 1, offset }, bind: { x, y }, groups: () => [2] });

  it('is read and written where it lies, and its tensor lives as long as its slices', async () => {
    const tape = new Tape(device, { rows: 8 });
    const [a, b, c] = [tape.tensor(['rows', 32]), tape.tensor(['rows', 32]), tape.tensor(['rows', 32])];
    const x = source(8);
    for (const first of [0, 2, 4, 6]) at(tape, rows(x, first, 2), rows(a, 6 - first, 2), 0);
    at(tape, rows(a, 0, 2), rows(b, 0, 2), 1);
    for (const first of [0, 2, 4, 6]) at(tape, rows(a, first, 2), rows(c, first, 2), first);
    tape.keep(c);
    tape.finish();
    tape.run({ rows: 8 });
    const wanted = [6, 4, 2, 0].flatMap((first, i) =>
      Array.from({ length: 64 }, (_, j) => first * 32 + j + 2 * i),
    );
    expect(await read(tape, c)).toEqual(wanted);
  });

  it('of a tensor above the binding limit fits a binding', () => {
    const tape = new Tape(device, { rows: 2 });
    const wide = tape.tensor([16, 1 << 15]);
    expect(() => at(tape, wide, source(2), 0)).toThrow('x spans 2097152 bytes, a binding at most 1048576');
    expect(() => at(tape, rows(wide, 8, 8), source(2), 0)).not.toThrow();
  });

  it('begins at a multiple of 256 bytes and ends within its tensor', () => {
    const tape = new Tape(device, { rows: 8 });
    const y = tape.tensor(['rows', 32]);
    expect(() => at(tape, source(2), rows(y, 1, 2), 0)).toThrow(
      'a slice cannot begin at row 1: rows are 128 bytes apart',
    );
    expect(() => at(tape, source(2), rows(y, 14, 4), 0)).toThrow(
      'a slice ends at row 18, its tensor of [rows, 32] before',
    );
  });
});

describe('the arena of a tape', () => {
  it('holds a chain in two slots, but a kept tensor in its own until the end', async () => {
    const tape = new Tape(device, { rows: 2 });
    const kept = tape.keep(affine(tape, source(2), 1, 5));
    let y = kept;
    for (let i = 0; i < 10; i++) y = affine(tape, y, 1, 1);
    tape.keep(y);
    tape.finish();
    tape.run({ rows: 2 });
    expect(await read(tape, kept)).toEqual(Array.from({ length: 64 }, (_, i) => i + 5));
    expect(await read(tape, y)).toEqual(Array.from({ length: 64 }, (_, i) => i + 15));
    expect(device.memory().arena).toBe(3 * 4 * 32 * 4);
  });

  it('grows for a later tape, and the earlier one binds what it became', async () => {
    const small = new Tape(device, { rows: 1 });
    const y = small.keep(affine(small, affine(small, source(1), 1, 1), 1, 1));
    small.finish();
    small.run({ rows: 1 });
    const before = device.arena.generation;
    const large = new Tape(device, { rows: 64 });
    const z = large.keep(affine(large, affine(large, source(64), 1, 2), 1, 2));
    large.finish();
    large.run({ rows: 64 });
    expect(device.arena.generation).toBeGreaterThan(before);
    expect((await read(large, z))[2047]).toBe(2047 + 4);
    small.run({ rows: 1 });
    expect((await read(small, y)).slice(0, 32)).toEqual(Array.from({ length: 32 }, (_, i) => i + 2));
    expect(device.memory().arena).toBe(2 * 64 * 32 * 4);
  });

  it('knows no tensor that nothing binds', () => {
    const tape = new Tape(device, { rows: 1 });
    const lost = tape.tensor(['rows', 32]);
    affine(tape, source(1), 1, 1);
    tape.finish();
    expect(() => tape.region(lost)).toThrow('a tensor of shape [rows, 32] is bound nowhere on this tape');
  });
});

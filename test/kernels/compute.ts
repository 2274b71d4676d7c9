// Runs the kernels that a test records on a tape of their own, on given inputs, with every other byte of the operands poisoned.

import { expect } from 'vitest';
import type { AttentionChoice } from '../../src/gpu/tape-options.ts';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { Tensor, tensorBytes, type Extent, type Region, type Sizes } from '../../src/gpu/tensor.ts';
import { partialBatch, type TextBatch } from '../../src/kernels/batch.ts';

/** Makes a tensor that holds these values, row by row; it has them from the first dispatch to the last. */
export type Input = (shape: Extent[], values: Float32Array) => Tensor;

export interface Job {
  device: Device;
  capacity: Sizes;
  sizes: Sizes;
  /** Returns the output, which may be one of the inputs. */
  record: (tape: Tape, input: Input) => Tensor;
  /** LoRA adapter of each row, for rows named `rows`. */
  adapters?: Region;
  /** Names of the rows that are decode rows. */
  decodes?: readonly string[];
  /** Kernels of dense attention. */
  attention?: AttentionChoice;
}

/** The output's rows at `sizes`; padding columns must have come out as zeros. */
export async function compute(job: Job): Promise<Float32Array[]> {
  const { device, capacity, sizes, record, adapters, decodes = [], attention } = job;
  const rowLoras = adapters ? { rows: adapters } : null;
  const tape = new Tape(device, capacity, { rowLoras, decodes, ...(attention && { attention }) });
  const inputs: GPUBuffer[] = [];
  const input: Input = (shape, values) => {
    const size = tensorBytes(shape, capacity);
    const buffer = device.allocate('step', 'input', size);
    inputs.push(buffer);
    const tensor = new Tensor(shape, 'f32', { region: { buffer, offset: 0, size }, tape });
    poison(device, tape.region(tensor));
    device.gpu.queue.writeBuffer(buffer, 0, paddedRows(values, tensor.columns, tensor.stride));
    return tensor;
  };
  const y = tape.keep(record(tape, input));
  tape.finish();
  device.arena.settle();
  if (!y.region) poison(device, tape.region(y));
  if (tape.waits) await tape.replay(sizes);
  else tape.run(sizes);
  const floats = new Float32Array(await device.read(tape.region(y)));
  inputs.forEach((buffer) => device.free(buffer));
  expect(device.takeError()).toBeNull();
  return Array.from({ length: y.rows(sizes) }, (_, row) => {
    const padding = floats.subarray(row * y.stride + y.columns, (row + 1) * y.stride);
    expect(padding.every((value) => value === 0)).toBe(true);
    return floats.slice(row * y.stride, row * y.stride + y.columns);
  });
}

function paddedRows(values: Float32Array, columns: number, stride: number): Float32Array<ArrayBuffer> {
  const rows = values.length / columns;
  const padded = new Float32Array(rows * stride);
  for (let row = 0; row < rows; row++) {
    padded.set(values.subarray(row * columns, (row + 1) * columns), row * stride);
  }
  return padded;
}

/** NaN as f32, and as a pair of f16 or bf16. */
export const POISON = 0x7fff7fff;

export function poison(device: Device, { buffer }: Region): void {
  device.gpu.queue.writeBuffer(buffer, 0, new Uint32Array(buffer.size / 4).fill(POISON));
}

/** A region that holds these words or floats, and poison after them. */
export function upload(device: Device, data: Uint32Array | Float32Array | Uint8Array): Region {
  const buffer = device.allocate('step', 'test data', Math.max(data.byteLength, 16));
  const region = { buffer, offset: 0, size: buffer.size };
  poison(device, region);
  const bytes = new Uint8Array(Math.ceil(data.byteLength / 4) * 4);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  device.gpu.queue.writeBuffer(buffer, 0, bytes);
  return region;
}

/** Returns a step's data in which only the given members are valid. */
export function batchOf(device: Device, given: Partial<TextBatch>): TextBatch {
  return partialBatch(upload(device, new Uint32Array(4)), given);
}

/** Pseudo-random numbers that are the same in every run (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** [0, 1) */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** 0 … below - 1 */
  integer(below: number): number {
    return Math.floor(this.next() * below);
  }

  /** ±[0.1, 1): never zero. */
  float(): number {
    return Math.fround((0.1 + 0.9 * this.next()) * (this.next() < 0.5 ? -1 : 1));
  }

  floats(count: number): Float32Array {
    const values = new Float32Array(count);
    for (let i = 0; i < count; i++) values[i] = this.float();
    return values;
  }

  /** 0 … count - 1 in any order. */
  permutation(count: number): number[] {
    const order = Array.from({ length: count }, (_, i) => i);
    for (let i = count - 1; i > 0; i--) {
      const j = this.integer(i + 1);
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    return order;
  }
}

/** The 16 bits of a normal number that f16 holds exactly. */
export function f16Bits(value: number): number {
  const exponent = Math.floor(Math.log2(Math.abs(value)));
  const mantissa = (Math.abs(value) / 2 ** exponent - 1) * 1024;
  return (value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | mantissa;
}

export function f16Value(bits: number): number {
  const mantissa = bits & 0x3ff;
  const exponent = (bits >> 10) & 31;
  const size = exponent === 0 ? mantissa * 2 ** -24 : (1 + mantissa / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -size : size;
}

/** A number near `value` that f16 holds exactly. */
export function toF16(value: number): number {
  const step = 2 ** (Math.floor(Math.log2(Math.abs(value))) - 10);
  return Math.trunc(value / step) * step;
}

/** Rows of `a` that differ from `b` in any bit. */
export function differingRows(a: Float32Array[], b: Float32Array[]): number[] {
  expect(a.length).toBe(b.length);
  const bits = ({ buffer }: Float32Array): Uint32Array => new Uint32Array(buffer);
  const differ: number[] = [];
  for (let i = 0; i < a.length; i++) {
    const [own, other] = [bits(a[i]!), bits(b[i]!)];
    let at = 0;
    while (at < own.length && own[at] === other[at]) at++;
    if (at < own.length || own.length !== other.length) differ.push(i);
  }
  return differ;
}

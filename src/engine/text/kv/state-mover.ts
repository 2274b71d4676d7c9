// Copies of the fixed states on the device. A copy holds the states of one sequence, layer after layer, as it does in host memory.

import type { Device } from '../../../gpu/device.ts';
import { allocatedBytes } from '../../../gpu/tensor.ts';
import type { StateSlots } from '../../../kernels/batch.ts';

/** States of one sequence on the device: those of a running one, or a copy. */
export type StateCell = { slot: number } | { copy: number };

/** A copy that the device makes before the next step. */
export interface StateMove {
  from: StateCell | { bytes: Uint8Array };
  to: StateCell;
}

/** Most bytes of a buffer with several copies. */
const BLOCK_BYTES = 2 ** 26;

function copiesInBlock(bytes: number): number {
  return Math.max(1, Math.floor(BLOCK_BYTES / bytes));
}

/** Bytes that the device allocates for so many copies of `bytes` bytes. */
export function copiesBytes(copies: number, bytes: number): number {
  if (copies === 0) return 0;
  const most = copiesInBlock(bytes);
  const rest = copies % most;
  const whole = (copies - rest) / most;
  return whole * allocatedBytes(most * bytes) + (rest === 0 ? 0 : allocatedBytes(rest * bytes));
}

/** A range of a buffer. */
interface Range {
  buffer: GPUBuffer;
  offset: number;
  bytes: number;
}

export class StateMover {
  /** Bytes of a copy. */
  readonly bytes: number;
  readonly #device: Device;
  readonly #layers: readonly { buffer: GPUBuffer; bytes: number; first: number }[];
  readonly #blocks: readonly GPUBuffer[];
  readonly #perBlock: number;

  /** `stores`: states of the layers, with room for `slots` sequences each. `copies`: number of copies. */
  constructor(device: Device, stores: readonly StateSlots[], slots: number, copies: number) {
    this.#device = device;
    let first = 0;
    this.#layers = stores.map(({ values }) => {
      const layer = { buffer: values.buffer, bytes: values.size / slots, first };
      first += layer.bytes;
      return layer;
    });
    this.bytes = first;
    this.#perBlock = copiesInBlock(first);
    this.#blocks = Array.from({ length: Math.ceil(copies / this.#perBlock) }, (_, i) => {
      const count = Math.min(this.#perBlock, copies - i * this.#perBlock);
      return device.allocate('kv', `copies of states ${i}`, count * first);
    });
  }

  /** Makes the copies in order; steps that are submitted later find them made. */
  move(moves: readonly StateMove[]): void {
    const { gpu } = this.#device;
    let encoder: GPUCommandEncoder | null = null;
    const submit = (): void => {
      if (encoder) gpu.queue.submit([encoder.finish()]);
      encoder = null;
    };
    for (const { from, to } of moves) {
      const targets = this.#rangesOf(to);
      if ('bytes' in from) {
        submit();
        targets.forEach(({ buffer, offset, bytes }, i) =>
          gpu.queue.writeBuffer(buffer, offset, from.bytes, this.#layers[i]!.first, bytes),
        );
        continue;
      }
      encoder ??= gpu.createCommandEncoder();
      for (const [i, source] of this.#rangesOf(from).entries())
        encoder.copyBufferToBuffer(
          source.buffer,
          source.offset,
          targets[i]!.buffer,
          targets[i]!.offset,
          source.bytes,
        );
    }
    submit();
  }

  /** Reads copies as they are after the steps submitted so far. Rejects if the device is lost, or has no room for the bytes. */
  read(copies: readonly number[]): Promise<Uint8Array<ArrayBuffer>[]> {
    const { bytes } = this;
    return readStaged(this.#device, { count: copies.length, bytes }, (encoder, item, to, offset) => {
      const { buffer, first } = this.#copy(copies[item]!);
      encoder.copyBufferToBuffer(buffer, first, to, offset, bytes);
    });
  }

  /** Ranges of a cell, one for each layer. */
  #rangesOf(cell: StateCell): Range[] {
    if ('slot' in cell)
      return this.#layers.map(({ buffer, bytes }) => ({ buffer, offset: cell.slot * bytes, bytes }));
    const { buffer, first: begin } = this.#copy(cell.copy);
    return this.#layers.map(({ bytes, first }) => ({ buffer, offset: begin + first, bytes }));
  }

  #copy(copy: number): { buffer: GPUBuffer; first: number } {
    const buffer = this.#blocks[Math.floor(copy / this.#perBlock)]!;
    return { buffer, first: (copy % this.#perBlock) * this.bytes };
  }
}

const MAP_READ = 0x1;
const COPY_DST = 0x8;

/**
 * Reads `count` items of `bytes` bytes as they are after the steps submitted so far; `copyOut` encodes the copy of one of them. Rejects
 * if the device is lost, or has no room for the staging buffer.
 */
export async function readStaged(
  { gpu }: Device,
  { count, bytes }: { count: number; bytes: number },
  copyOut: (encoder: GPUCommandEncoder, item: number, to: GPUBuffer, offset: number) => void,
): Promise<Uint8Array<ArrayBuffer>[]> {
  // A staging buffer for which there is no room must not end the steps: its errors are caught in scopes of their own.
  gpu.pushErrorScope('validation');
  gpu.pushErrorScope('out-of-memory');
  const staging = gpu.createBuffer({ size: count * bytes, usage: MAP_READ | COPY_DST });
  try {
    const encoder = gpu.createCommandEncoder();
    for (let item = 0; item < count; item++) copyOut(encoder, item, staging, item * bytes);
    gpu.queue.submit([encoder.finish()]);
    const mapped = staging.mapAsync(MAP_READ);
    const scopes = [gpu.popErrorScope(), gpu.popErrorScope()];
    const [, ...errors] = await Promise.all([mapped, ...scopes]);
    const error = errors.find((found) => found !== null);
    if (error) throw new Error(`the prefix cache could not be copied out: ${error.message}`);
    const copied = staging.getMappedRange();
    return Array.from(
      { length: count },
      (_, item) => new Uint8Array(copied.slice(item * bytes, (item + 1) * bytes)),
    );
  } finally {
    staging.destroy();
  }
}

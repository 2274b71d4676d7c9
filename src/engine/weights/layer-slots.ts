// The slots on the device for the experts of one layer, whose matrices and biases lie beside them: in host memory or in a file, and biases on the
// device. A slot has an expert's part of each of the layer's matrices.

import { wholeOf } from '../../gpu/memory.ts';
import type { Device } from '../../gpu/device.ts';
import type { Round } from '../../gpu/replay.ts';
import type { Region } from '../../gpu/tensor.ts';
import { IDLE } from '../../kernels/expert-slots.ts';
import { groupBytes } from '../../kernels/formats.ts';
import {
  expertGroups,
  GROUP,
  type ExpertSlots,
  type Matrix,
  type MatrixWindow,
} from '../../kernels/matrix.ts';
import { planWindows, wholly } from '../../kernels/matrix-windows.ts';
import { SlotCache, type SlotRound } from './slot-cache.ts';

/** A matrix of all experts. */
export interface ExpertSource {
  matrix: Matrix;
  /** The bytes of all experts, in one format. */
  windows: readonly MatrixWindow[];
}

/** A matrix whose windows and bias are those of slots. */
interface Slotted extends ExpertSource {
  /** The bias of all experts; null: there is none. */
  bias: Region | null;
}

/** Bytes from one place to another. */
interface Piece {
  from: Region;
  to: Region;
}

/** How often chosen experts were in a slot, and what was copied for those that were not. */
export interface SlotCounters {
  hits: number;
  misses: number;
  bytes: number;
}

export class LayerSlots implements ExpertSlots {
  readonly table: Region;
  readonly #device: Device;
  readonly #matrices: readonly Slotted[];
  readonly #counters: SlotCounters;
  readonly #cache: SlotCache;
  readonly #words: Uint32Array<ArrayBuffer>;
  readonly #buffers: GPUBuffer[] = [];

  /** Allocates the slots and places the matrices there. Throws out_of_memory; then nothing stays allocated. */
  constructor(device: Device, count: number, sources: readonly ExpertSource[], counters: SlotCounters) {
    this.#device = device;
    this.#counters = counters;
    this.#cache = new SlotCache(count);
    const { experts } = sources[0]!.matrix;
    this.#words = new Uint32Array(experts);
    this.#matrices = sources.map((source) => ({ ...source, bias: source.matrix.bias?.region ?? null }));
    try {
      this.table = this.#allocate(`${sources[0]!.matrix.name}/slots`, 4 * experts);
      for (const { matrix, windows, bias } of this.#matrices) {
        this.#place(matrix, windows, count);
        if (bias) matrix.bias!.place(this.#allocate(`${matrix.name}/bias`, count * biasBytes(matrix)));
        matrix.slots = this;
      }
    } catch (error) {
      this.free();
      throw error;
    }
  }

  #allocate(label: string, bytes: number): Region {
    const buffer = this.#device.allocate('weights', label, bytes);
    this.#buffers.push(buffer);
    return wholeOf(buffer);
  }

  #place(matrix: Matrix, windowsOfAll: readonly MatrixWindow[], count: number): void {
    const { format } = windowsOfAll[0]!;
    const { k, columns, kernel, name } = matrix;
    const { bindingLimit } = this.#device.capabilities;
    const options = { spans: wholly(format), winograd: false, bindingLimit };
    const planned = planWindows({ k, columns, kernel, name, experts: count }, options);
    const windows = planned.map(({ codes, scales, ...window }) => ({
      ...window,
      codes: this.#allocate(name, codes),
      scales: scales > 0 ? this.#allocate(name, scales) : null,
    }));
    matrix.place({ winograd: false, windows });
  }

  get bytes(): number {
    return this.#buffers.reduce((sum, { size }) => sum + size, 0);
  }

  bring(experts: readonly number[]): Round[] {
    const rounds = this.#cache.rounds(experts);
    const misses = rounds.reduce((sum, { missing }) => sum + missing.length, 0);
    this.#counters.hits += experts.length - misses;
    this.#counters.misses += misses;
    return rounds.map((round) => (encoder) => this.#bring(encoder, round));
  }

  async #bring(encoder: GPUCommandEncoder, { slots, missing }: SlotRound): Promise<void> {
    for (const [expert, slot] of missing) {
      for (const piece of this.#matrices.flatMap((one) => piecesOf(one, expert, slot))) {
        this.#counters.bytes += piece.from.size;
        if (this.#device.host.isStored(piece.from.buffer)) await this.#read(piece);
        else copy(encoder, piece);
      }
    }
    this.#words.fill(IDLE);
    for (const [expert, slot] of slots) this.#words[expert] = slot;
    this.#device.gpu.queue.writeBuffer(this.table.buffer, 0, this.#words);
  }

  async #read({ from, to }: Piece): Promise<void> {
    const bytes = new Uint8Array(from.size);
    await this.#device.host.stored(from.buffer).readInto(from.offset, bytes);
    // A write to a lost device ends the process where Dawn does not validate.
    await this.#device.loss();
    if (this.#device.isLost) throw new Error('the device was lost while an expert was read from a file');
    this.#device.gpu.queue.writeBuffer(to.buffer, to.offset, bytes);
  }

  free(): void {
    for (const buffer of this.#buffers.splice(0)) this.#device.free(buffer);
  }
}

function copy(encoder: GPUCommandEncoder, { from, to }: Piece): void {
  encoder.copyBufferToBuffer(from.buffer, from.offset, to.buffer, to.offset, from.size);
}

/** Bytes of one expert's bias. */
function biasBytes(matrix: Matrix): number {
  return 4 * GROUP * expertGroups(matrix);
}

/** The bytes of an expert, and those of its slot. */
function piecesOf({ matrix, windows, bias }: Slotted, expert: number, slot: number): Piece[] {
  const groups = expertGroups(matrix);
  const pieces: Piece[] = [];
  for (let at = 0, length: number; at < groups; at += length) {
    const [from, to] = [expert * groups + at, slot * groups + at];
    const [source, target] = [windowOf(windows, from), windowOf(matrix.windows, to)];
    const end = Math.min(source.firstGroup + source.groups - from, target.firstGroup + target.groups - to);
    length = Math.min(groups - at, end);
    const each = groupBytes(source.format, matrix.blocks);
    for (const part of ['codes', 'scales'] as const) {
      if (each[part] === 0) continue;
      const cut = (window: MatrixWindow, group: number): Region => ({
        buffer: window[part]!.buffer,
        offset: window[part]!.offset + (group - window.firstGroup) * each[part],
        size: length * each[part],
      });
      pieces.push({ from: cut(source, from), to: cut(target, to) });
    }
  }
  if (bias) {
    const size = biasBytes(matrix);
    const { buffer, offset } = matrix.bias!.region!;
    pieces.push({
      from: { buffer: bias.buffer, offset: bias.offset + expert * size, size },
      to: { buffer, offset: offset + slot * size, size },
    });
  }
  return pieces;
}

function windowOf(windows: readonly MatrixWindow[], group: number): MatrixWindow {
  return windows.find(({ firstGroup, groups }) => group >= firstGroup && group < firstGroup + groups)!;
}

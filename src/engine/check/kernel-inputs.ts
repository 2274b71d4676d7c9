// Inputs of kernel checks on a device: numbers that are the same in every run, tensors, and matrices of every format.

import { wholeOf } from '../../gpu/memory.ts';
import type { Device } from '../../gpu/device.ts';
import type { Tape } from '../../gpu/tape.ts';
import { Tensor, type Extent, type Region } from '../../gpu/tensor.ts';
import { FORMATS, storedBlock, type FormatName, type SourceFormat } from '../../kernels/formats.ts';
import {
  allocateMatrix,
  stacked,
  type Matrix,
  type MatrixForm,
  type MatrixPart,
} from '../../kernels/matrix.ts';
import { packRows } from '../../kernels/pack.ts';
import { runOnce } from '../../kernels/run-once.ts';

/** An input on the tape that is recorded. */
export type Given = (tape: Tape) => Tensor;

/** 0.02 as f16: scales of blocks. */
const HALF_SCALE = 0x251f;
/** Two floats of E4M3. */
const FLOAT_SCALES = 0x0c0b;
/** 2^-6 as an exponent of a byte. */
const BYTE_SCALE = 121;
/** Rows that are packed at once. */
const PACKED_ROWS = 64;

export class KernelInputs {
  readonly device: Device;
  readonly #buffers: GPUBuffer[] = [];
  #state = 1;

  constructor(device: Device) {
    this.device = device;
  }

  /** ±[0.1, 1): never zero. */
  numbers(count: number): Float32Array {
    return Float32Array.from({ length: count }, () => {
      const next = this.#next();
      return (next % 2 === 0 ? 1 : -1) * (0.1 + (0.9 * (next >>> 8)) / 2 ** 24);
    });
  }

  /** An extent that is a name has `rows` rows. */
  tensor(shape: readonly Extent[], values: Float32Array, rows = 0): Given {
    const extents = shape.map((extent) => (typeof extent === 'number' ? extent : rows));
    const { region } = this.device.tensor('step', 'kernel check', extents, values);
    this.#buffers.push(region!.buffer);
    return (tape) => new Tensor(shape, 'f32', { region: region!, tape });
  }

  region(data: Uint32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>): Region {
    const bytes = new Uint8Array(Math.max(16, Math.ceil(data.byteLength / 4) * 4));
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    const buffer = this.device.allocate('step', 'kernel check', bytes.length);
    this.#buffers.push(buffer);
    this.device.gpu.queue.writeBuffer(buffer, 0, bytes);
    return wholeOf(buffer);
  }

  /** A matrix of numbers in ±1, which the format may round, or of any codes of the format. */
  matrix(
    format: FormatName,
    columns: number,
    k: number,
    { parts = stacked([{ name: 'w', rows: columns }]), ...form }: MatrixForm & { parts?: MatrixPart[] } = {},
  ): Matrix {
    const matrix = allocateMatrix(this.device, FORMATS[format], k, parts, form);
    for (const { codes, scales } of matrix.windows)
      this.#buffers.push(codes.buffer, ...(scales ? [scales.buffer] : []));
    const source: SourceFormat = FORMATS[format].packing === 'stored' ? (format as SourceFormat) : 'f32';
    runOnce(this.device, (tape) => {
      for (const part of parts) {
        for (let firstRow = 0; firstRow < part.rows; firstRow += PACKED_ROWS) {
          const rows = Math.min(PACKED_ROWS, part.rows - firstRow);
          const raw = this.region(this.#stored(source, rows * k * matrix.taps));
          packRows(tape, matrix, part, { raw, source, firstRow, rows });
        }
      }
    });
    return matrix;
  }

  /** Bytes of so many weights as files hold them. */
  #stored(source: SourceFormat, count: number): Uint8Array<ArrayBuffer> {
    const block = storedBlock(source);
    if (!block) return new Uint8Array(this.numbers(count).buffer as ArrayBuffer);
    const bytes = Uint8Array.from(
      { length: (count / block.values) * block.bytes },
      () => this.#next() >>> 24,
    );
    const view = new DataView(bytes.buffer);
    for (let at = 0; at < bytes.length; at += block.bytes) {
      for (const scale of block.scalesAt) {
        if (block.scaleType === 'parts') putParts(view, at + scale, HALF_SCALE);
        else if (block.scaleType === 'f16') view.setUint16(at + scale, HALF_SCALE, true);
        else if (block.scaleType === 'e4m3') view.setUint16(at + scale, FLOAT_SCALES, true);
        else view.setUint8(at + scale, BYTE_SCALE);
      }
    }
    return bytes;
  }

  /** Linear congruential generator. */
  #next(): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return (this.#state >>> 7) ^ this.#state;
  }

  free(): void {
    for (const buffer of this.#buffers.splice(0)) this.device.free(buffer);
  }
}

/** Writes four bits of an f16 above each 12 of eight bytes. */
function putParts(view: DataView, at: number, half: number): void {
  for (let i = 0; i < 4; i++) {
    const low = view.getUint16(at + 2 * i, true) & 0xfff;
    view.setUint16(at + 2 * i, low | (((half >> (4 * i)) & 15) << 12), true);
  }
}

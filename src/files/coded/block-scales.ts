// Scales of bitsandbytes' blocks of 4-bit codes as one tensor [rows, groups] of f32, whichever way a file holds them: as numbers or as codes
// of 8 bits with scales again (double quantization), and in blocks that may run across the ends of rows.

import type { ByteSource } from '../source.ts';
import { broken, type Stored } from '../tensors/coded-tensor.ts';

/** Scales of scales. A scale is map[code] · absmax[its number / blockSize] + offset. */
export interface NestedScales {
  absmax: Stored;
  map: Stored;
  blockSize: number;
  offset: number;
}

interface BlockScalesOptions {
  /** Scales of all blocks, or their codes. */
  absmax: Stored;
  nested: NestedScales | null;
  /** The 16 values that codes of weights stand for. */
  map: Stored;
  type: keyof typeof TABLES;
  /** Values of the whole matrix that share a scale. */
  blockSize: number;
  /** Values that share one of the scales that are read here. */
  groupKs: number;
  count: number;
}

/** Magnitudes of FP4; its highest bit is the sign. */
const FP4 = [0, 1 / 192, 2 / 3, 1, 1 / 3, 1 / 2, 1 / 6, 1 / 4].map(Math.fround);

/** Values of codes. source: bitsandbytes' get_4bit_type, in f32; shaders/lib/lookup.*.wgsl hold them too. */
const TABLES = {
  nf4: [
    -1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
    -0.18477343022823334, -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725,
    0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1,
  ],
  fp4: [...FP4, ...FP4.map((value) => -value)],
} satisfies Record<string, readonly number[]>;

const FLOAT_BYTES = 4;

/** A source of the scales' bytes. Offsets count from the place of `absmax` in its file, so that files are still read in order. */
export class BlockScales implements ByteSource {
  readonly name: string;
  /** Bytes of all scales. */
  readonly size: number;
  readonly #options: BlockScalesOptions;
  #tables: Promise<{ map: Float32Array; absmax: Float32Array } | null> | null = null;

  constructor(options: BlockScalesOptions) {
    this.name = options.absmax.source.name;
    this.size = options.count * FLOAT_BYTES;
    this.#options = options;
  }

  async read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(length);
    await this.readInto(offset, bytes);
    return bytes;
  }

  async readInto(offset: number, target: Uint8Array<ArrayBuffer>): Promise<void> {
    const { absmax, blockSize, groupKs } = this.#options;
    const first = (offset - absmax.offset) / FLOAT_BYTES;
    const count = target.length / FLOAT_BYTES;
    const blockOf = (scale: number): number => Math.floor((scale * groupKs) / blockSize);
    const firstBlock = blockOf(first);
    const blocks = await this.#blocks(firstBlock, blockOf(first + count - 1) + 1 - firstBlock);
    const view = new DataView(target.buffer, target.byteOffset, target.length);
    for (let i = 0; i < count; i++)
      view.setFloat32(i * FLOAT_BYTES, blocks[blockOf(first + i) - firstBlock]!, true);
  }

  /** The file of the scales is closed by its own opener. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Scales of blocks. Products and sums are rounded to f32 one after the other, as bitsandbytes computes them. */
  async #blocks(first: number, count: number): Promise<Float32Array> {
    const { absmax, nested } = this.#options;
    const tables = await (this.#tables ??= this.#readTables());
    if (!nested || !tables) {
      const part = { ...absmax, offset: absmax.offset + first * FLOAT_BYTES, bytes: count * FLOAT_BYTES };
      return floatsOf(part);
    }
    const codes = await absmax.source.read(absmax.offset + first, count);
    const scales = new Float32Array(count);
    for (let i = 0; i < count; i++) {
      const scale = tables.absmax[Math.floor((first + i) / nested.blockSize)]!;
      scales[i] = Math.fround(tables.map[codes[i]!]! * scale) + nested.offset;
    }
    return scales;
  }

  /** Checks the table of codes and reads those of nested scales; null: there are none. Throws bad_checkpoint for another table. */
  async #readTables(): Promise<{ map: Float32Array; absmax: Float32Array } | null> {
    const { map, type, nested } = this.#options;
    const values = await floatsOf(map);
    const wrong = values.findIndex((value, code) => value !== TABLES[type][code]);
    if (wrong >= 0)
      throw broken(
        map.name,
        `tensor ${map.name} of ${map.source.name} says that code ${wrong} is ${values[wrong]}, and in ${type} it is ${TABLES[type][wrong]}`,
      );
    return nested && { map: await floatsOf(nested.map), absmax: await floatsOf(nested.absmax) };
  }
}

async function floatsOf({ source, offset, bytes }: Stored): Promise<Float32Array> {
  const read = await source.read(offset, bytes);
  const view = new DataView(read.buffer, read.byteOffset, read.length);
  return Float32Array.from({ length: bytes / FLOAT_BYTES }, (_, i) => view.getFloat32(i * FLOAT_BYTES, true));
}

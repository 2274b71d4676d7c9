// The tensors of a component with those of some matrices replaced by what stands for them in 4 bits with a low-rank part: their types and shapes are
// known before they are made, and they are made once, into the cache of packed weights or, where there is none, into memory.

import type { PackedEntry, PackedFile } from '../../../files/checkpoint/packed-file.ts';
import { computedTensor } from '../../../files/coded/computed-rows.ts';
import { slicedSource } from '../../../files/source.ts';
import { codedDtype, type CodedTensors } from '../../../files/tensors/coded-tensor.ts';
import type { TensorEntry } from '../../../files/tensors/safetensors.ts';
import type { Device } from '../../../gpu/device.ts';
import type { PackedSlot } from '../../platform/platform.ts';
import { pieceNames, quantized, type QuantizedPiece } from './quantize.ts';
import type { SvdquantSettings } from './settings.ts';
import type { Target } from './targets.ts';

type Tensors = ReadonlyMap<string, TensorEntry>;
type Form = Pick<TensorEntry, 'dtype' | 'shape' | 'bytes'>;

/** k's that share a pair of scales of E4M3. */
const PAIR_KS = 32;

export interface MakeOptions {
  slot: PackedSlot | null;
  /** Bytes of weights that were quantized, of all. */
  onProgress(bytes: number, totalBytes: number): void;
  /** Called if the cache could not be written; the weights are then in memory. */
  onNote(message: string): void;
}

export class QuantizedTensors {
  readonly tensors: Map<string, TensorEntry>;
  readonly #device: Device;
  readonly #targets: readonly Target[];
  readonly #stored: Tensors;
  readonly #settings: SvdquantSettings;
  #file: PackedFile | null = null;
  #memory: ReadonlyMap<string, Uint8Array> | null = null;
  #placed = 0;
  /** Why weights could not be quantized. */
  #failure: Error | null = null;

  constructor(device: Device, targets: readonly Target[], stored: Tensors, settings: SvdquantSettings) {
    this.#device = device;
    this.#targets = targets;
    this.#stored = stored;
    this.#settings = settings;
    this.tensors = new Map(stored);
    for (const target of targets)
      for (const entry of this.#entries(target)) this.tensors.set(entry.name, entry);
  }

  /** Makes the tensors, or finds them in the cache. Throws out_of_memory, and the errors of reading. */
  async make({ slot, onProgress, onNote }: MakeOptions): Promise<void> {
    if (this.#file || this.#memory) return;
    this.#file = (await slot?.read()) ?? null;
    if (this.#file || !slot) {
      if (!this.#file) this.#memory = await this.#inMemory(onProgress);
      return;
    }
    try {
      await slot.write(this.#packed(onProgress));
      this.#file = await slot.read();
    } catch (error) {
      if (this.#failure) throw this.#failure;
      onNote(error instanceof Error ? error.message : String(error));
    }
    if (!this.#file) this.#memory = await this.#inMemory(onProgress);
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = null;
  }

  async *#pieces(onProgress: MakeOptions['onProgress']): AsyncGenerator<QuantizedPiece> {
    const bytesOf = ({ names }: Target): number =>
      names.reduce((sum, name) => sum + this.#stored.get(name)!.bytes, 0);
    const total = this.#targets.reduce((sum, target) => sum + bytesOf(target), 0);
    let done = 0;
    for (const target of this.#targets) {
      const made = quantized(this.#device, target, this.#stored, this.#settings);
      yield* await made.catch((error: unknown) => {
        this.#failure = error as Error;
        throw error;
      });
      done += bytesOf(target);
      onProgress(done, total);
    }
  }

  async *#packed(onProgress: MakeOptions['onProgress']): AsyncGenerator<PackedEntry> {
    for await (const { name, bytes } of this.#pieces(onProgress)) yield { name, chunks: [bytes] };
  }

  async #inMemory(onProgress: MakeOptions['onProgress']): Promise<ReadonlyMap<string, Uint8Array>> {
    const found = new Map<string, Uint8Array>();
    for await (const { name, bytes } of this.#pieces(onProgress)) found.set(name, bytes);
    return found;
  }

  /** Bytes of a piece from `offset` on. */
  async #read(piece: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const entry = this.#file?.tensors.get(piece);
    if (entry) return entry.source.read(entry.offset + offset, length);
    const bytes = this.#memory?.get(piece);
    if (!bytes) throw new Error(`${piece} is read before it was quantized`);
    return Uint8Array.from(bytes.subarray(offset, offset + length));
  }

  #entry(name: string, piece: string, form: Form): TensorEntry {
    const offset = this.#placed;
    this.#placed += form.bytes;
    const source = slicedSource({ name: 'quantized weights', size: this.#placed }, (at, length) =>
      this.#read(piece, at - offset, length),
    );
    return { name, storedAs: piece, source, offset, ...form };
  }

  #entries({ names, rows, k }: Target): TensorEntry[] {
    const { rank, smoothing } = this.#settings;
    const shared = pieceNames(names[0]!);
    return names.flatMap((name, i) => {
      const { down, up, smooth } = pieceNames(name);
      return [
        this.#weight(name, rows[i]!, k, shared.factor),
        this.#entry(down, shared.down, { dtype: 'BF16', shape: [rank, k], bytes: 2 * rank * k }),
        this.#entry(up, up, { dtype: 'BF16', shape: [rows[i]!, rank], bytes: 2 * rows[i]! * rank }),
        ...(smoothing > 0
          ? [this.#entry(smooth, shared.smooth, { dtype: 'F32', shape: [2, k], bytes: 8 * k })]
          : []),
      ];
    });
  }

  #weight(name: string, rows: number, k: number, factor: string): TensorEntry {
    const { precision, groupKs } = this.#settings;
    const pieces = pieceNames(name);
    const isFloat = precision === 'nvfp4';
    const ks = isFloat ? PAIR_KS : groupKs;
    const shape = [rows, k / ks];
    const count = rows * (k / ks);
    const codes = this.#entry(pieces.codes, pieces.codes, {
      dtype: 'U8',
      shape: [rows, k / 2],
      bytes: (rows * k) / 2,
    });
    const scales = this.#entry(pieces.scales, pieces.scales, {
      dtype: isFloat ? 'U16' : 'F32',
      shape,
      bytes: (isFloat ? 2 : 4) * count,
    });
    const coded: CodedTensors<TensorEntry> = {
      rule: isFloat ? 'e2m1' : 'integer',
      ...{ bits: 4, layout: 'rows', signed: false, groupKs: ks, codes, scales },
      zeros: isFloat ? null : 8,
      ...(isFloat && { offsets: this.#factors(`${name}.factors`, scales, factor) }),
      groupOf: null,
      order: null,
    };
    const bytes = codes.bytes + scales.bytes;
    const dtype = codedDtype(name, coded, k);
    return { name, dtype, shape: [rows, k], source: codes.source, offset: codes.offset, bytes, coded };
  }

  /** One factor for each pair of scales. */
  #factors(name: string, scales: TensorEntry, factor: string): TensorEntry {
    const { shape } = scales;
    const [rows = 0, pairs = 0] = shape;
    return computedTensor(
      scales,
      { name, dtype: 'BF16', shape },
      {
        rows,
        rowBytes: 2 * pairs,
        read: async (_, count) => {
          const [bits = 0] = new Uint16Array((await this.#read(factor, 0, 4)).buffer);
          return new Uint8Array(new Uint16Array(count * pairs).fill(bits).buffer);
        },
      },
    );
  }
}

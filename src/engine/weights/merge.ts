// Uploads of weights that LoRAs change: a chunk of rows is widened to f32 as it arrives, the changes are added to it by kernels, and the
// sum is packed like any weights. So the changes reach every layout and format of weights, the sum is rounded once, and a step costs
// nothing more. Reading a tensor again without its changes gives the bits that it had before.

import { isWhole, type ProductFactor } from '../../files/lora/module.ts';
import type { Device } from '../../gpu/device.ts';
import type { Tape } from '../../gpu/tape.ts';
import type { Region } from '../../gpu/tensor.ts';
import { fillZeros, wholeOf } from '../../gpu/memory.ts';
import { loraKronecker } from '../../kernels/lora-kronecker.ts';
import { loraMagnitude } from '../../kernels/lora-magnitude.ts';
import { loraProduct, type FloatRows, type LeftFactor } from '../../kernels/lora-product.ts';
import { loraSquares } from '../../kernels/lora-squares.ts';
import { entriesOfChange, type WeightChange, type WeightChanges } from './change.ts';
import type { CheckedTensor } from './damaged.ts';
import { Factors, widenChunk } from './factors.ts';
import { rehearseUpload, uploadAll, type UploadedChunk, type Wanted } from './upload.ts';

/** Bytes of factors as f32 that are on the device at a time, if more than one tensor's are. */
const BATCH_BYTES = 16 * 2 ** 20;

/** Like uploadAll, with the changes of tensors added before they are placed. `unread`: memory is allocated, and nothing is read. */
export async function uploadChanged(
  device: Device,
  wanted: readonly Wanted[],
  changes: WeightChanges,
  { onProgress, unread }: { onProgress: (bytes: number, total: number) => void; unread: boolean },
): Promise<CheckedTensor[]> {
  const of = ({ entry }: Wanted): readonly WeightChange[] => changes.get(entry.name) ?? [];
  const total = wanted.reduce((sum, { entry }) => sum + entry.bytes, 0);
  const checked: CheckedTensor[] = [];
  const upload = async (part: Wanted[], isChanged = false): Promise<void> => {
    if (unread) return rehearseUpload(device, part, isChanged);
    const before = checked.reduce((sum, { entry }) => sum + entry.bytes, 0);
    checked.push(...(await uploadAll(device, part, (done) => onProgress(before + done, total))));
  };
  await upload(wanted.filter((one) => of(one).length === 0));
  for (const batch of batches(
    wanted.filter((one) => of(one).length > 0),
    of,
  )) {
    using factors = await Factors.read(device, batch.flatMap(of), unread);
    const mergers = batch.map((one) => new Merger(device, one, of(one), factors));
    try {
      const measured = mergers.flatMap((merger) => merger.measuring ?? []);
      if (measured.length > 0)
        await (unread ? rehearseUpload(device, measured, true) : uploadAll(device, measured, () => {}));
      await upload(
        mergers.map((merger) => merger.changed),
        true,
      );
    } finally {
      mergers.forEach((merger) => merger.free());
    }
  }
  return checked;
}

function batches(wanted: readonly Wanted[], of: (wanted: Wanted) => readonly WeightChange[]): Wanted[][] {
  const all: Wanted[][] = [];
  let bytes = Infinity;
  for (const one of wanted) {
    // Factors of 16-bit files take twice their bytes.
    const own =
      2 *
      of(one)
        .flatMap(entriesOfChange)
        .reduce((sum, entry) => sum + entry.bytes, 0);
    if (bytes + own > BATCH_BYTES) {
      all.push([]);
      bytes = 0;
    }
    all.at(-1)!.push(one);
    bytes += own;
  }
  return all;
}

/** A column as the left factor of a product. */
const leftOf = ({ region }: FloatRows): LeftFactor => ({ region, row: 1, rank: 1, taps: 1 });

type Scratch = 'sum' | 'original' | 'changed' | 'pair' | 'squares';

/** Adds the changes of one tensor to its chunks. */
class Merger {
  readonly #device: Device;
  readonly #wanted: Wanted;
  readonly #changes: readonly WeightChange[];
  readonly #factors: Factors;
  /** Rows and columns of the tensor; a vector is a column. */
  readonly #rows: number;
  readonly #columns: number;
  /** Columns of one input. */
  readonly #taps: number;
  readonly #buffers = new Map<string, GPUBuffer>();

  constructor(device: Device, wanted: Wanted, changes: readonly WeightChange[], factors: Factors) {
    const [rows = 1, inputs = 1, ...taps] = wanted.entry.shape;
    this.#device = device;
    this.#wanted = wanted;
    this.#changes = changes;
    this.#factors = factors;
    this.#rows = rows;
    this.#taps = taps.reduce((product, size) => product * size, 1);
    this.#columns = inputs * this.#taps;
  }

  /** The upload with the changes. */
  get changed(): Wanted {
    return {
      ...this.#wanted,
      placedRowBytes: this.#rowBytes,
      place: (tape, chunk) => this.#place(tape, chunk),
    };
  }

  /** An upload that measures the changed weights of each input, which lie in all rows; null: no magnitude needs that. */
  get measuring(): Wanted | null {
    const changes = this.#changes.filter((change) => change.magnitude && this.#byInput(change));
    if (changes.length === 0) return null;
    const place = (tape: Tape, chunk: UploadedChunk): void => {
      for (const change of changes) {
        const y = this.#applied(tape, 'changed', chunk, change);
        loraSquares(tape, y, this.#squares(change), { taps: this.#taps });
      }
    };
    return { entry: this.#wanted.entry, placedRowBytes: this.#rowBytes, place };
  }

  free(): void {
    for (const buffer of this.#buffers.values()) this.#device.free(buffer);
    this.#buffers.clear();
  }

  get #rowBytes(): number {
    return 4 * (this.#wanted.entry.shape.length > 1 ? this.#columns : this.#rows);
  }

  #place(tape: Tape, chunk: UploadedChunk): void {
    const y = this.#widened(tape, 'sum', chunk);
    const { first } = this.#span(chunk);
    for (const change of this.#changes) {
      if (!change.magnitude) {
        this.#add(tape, y, change, first);
        continue;
      }
      const original = this.#widened(tape, 'original', chunk);
      const changed = this.#applied(tape, 'changed', chunk, change);
      const byInput = this.#byInput(change);
      const squares = this.#squares(change);
      if (!byInput) loraSquares(tape, changed, squares, null);
      const regions = { changed: changed.region, original: original.region, squares };
      const magnitudes = {
        region: this.#factors.values(change.magnitude),
        first: first + change.firstRow,
        byInput,
      };
      loraMagnitude(tape, y, regions, magnitudes);
    }
    this.#wanted.place(tape, { ...chunk, raw: y.region, source: 'f32' });
  }

  /** The tensor's rows with one change. */
  #applied(tape: Tape, buffer: Scratch, chunk: UploadedChunk, change: WeightChange): FloatRows {
    const y = this.#widened(tape, buffer, chunk);
    this.#add(tape, y, change, this.#span(chunk).first);
    return y;
  }

  /** y += scale · delta, whose row `first` belongs to y's first one. */
  #add(tape: Tape, y: FloatRows, { delta, scale: outer, firstRow }: WeightChange, first: number): void {
    const factors = this.#factors;
    const scale = outer * delta.scale;
    const from = firstRow + first;
    const [one, two] = delta.factors;
    if (delta.replaces) {
      const b = leftOf(factors.matrix(one!));
      return loraProduct(tape, y, { b, a: factors.one.region, rank: 1, firstRow: from }, { op: 'set' });
    }
    if (delta.kind === 'kronecker')
      return loraKronecker(tape, y, factors.matrix(one!), factors.matrix(two!), { scale, firstRow: from });
    if (delta.kind === 'hadamard') {
      const pair = { ...y, region: this.#region('pair', 4 * y.rows * y.columns) };
      const products = [one, two].map((factor) => factors.product(factor as ProductFactor));
      products.forEach((product, i) =>
        loraProduct(tape, pair, { ...product, firstRow: from }, { op: i === 0 ? 'set' : 'multiply' }),
      );
      return loraKronecker(tape, y, factors.one, pair, { scale });
    }
    if (isWhole(one!))
      return loraKronecker(tape, y, factors.one, factors.matrix(one), { scale, firstRow: from });
    loraProduct(tape, y, { ...factors.product(one!), firstRow: from }, { op: 'add', scale });
  }

  /** Whether magnitudes belong to inputs, as LyCORIS may store them: [1, inputs, 1, 1]; PEFT stores [1, rows, 1, 1] for rows. */
  #byInput({ magnitude }: WeightChange): { taps: number } | null {
    const { name, shape } = magnitude!;
    return name.endsWith('dora_scale') && shape.length > 1 && shape[0] === 1 && this.#rows > 1
      ? { taps: this.#taps }
      : null;
  }

  #squares(change: WeightChange): Region {
    const byInput = this.#byInput(change);
    const size = 4 * (byInput ? this.#columns / this.#taps : this.#rows);
    return this.#region(
      byInput ? `squares ${this.#changes.indexOf(change)}` : 'squares',
      size,
      byInput !== null,
    );
  }

  #span({ firstRow, rows }: UploadedChunk): { first: number; rows: number } {
    return this.#wanted.entry.shape.length > 1 ? { first: firstRow, rows } : { first: 0, rows: this.#rows };
  }

  #widened(tape: Tape, buffer: Scratch, chunk: UploadedChunk): FloatRows {
    const { rows } = this.#span(chunk);
    const size = rows * this.#columns;
    const region = this.#region(buffer, 4 * size);
    widenChunk(tape, region, chunk, size);
    return { region, rows, columns: this.#columns };
  }

  /** A buffer, which later chunks, none of which is larger, use again; `isZero`: zeros at first. */
  #region(name: string, size: number, isZero = false): Region {
    const known = this.#buffers.get(name);
    const buffer = known ?? this.#device.allocate('step', `merging ${name}`, size);
    if (!known && isZero) fillZeros(this.#device, [wholeOf(buffer)]);
    this.#buffers.set(name, buffer);
    return wholeOf(buffer);
  }
}

// Uploads a checkpoint's tensors to the device in file order, a few megabytes at a time: chunks of rows are written into one upload
// buffer, small tensors together, then checked and placed by kernels of one submit, so that neither side holds a large tensor whole.
// The counters of the check are read back once, after the last tensor.

import { unsupported } from '../../files/error.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import type { Device } from '../../gpu/device.ts';
import { Tape } from '../../gpu/tape.ts';
import type { Region } from '../../gpu/tensor.ts';
import { fillZeros, wholeOf } from '../../gpu/memory.ts';
import { checkValues, COUNTER_BYTES, readCounts } from '../../kernels/check-values.ts';
import { isFlat, sourceOf, SOURCES, storedBlock, type SourceFormat } from '../../kernels/formats.ts';
import { BLOCK } from '../../kernels/matrix.ts';
import type { PackedChunk } from '../../kernels/pack.ts';
import { runOnce } from '../../kernels/run-once.ts';
import { refuseDamaged, type CheckedTensor } from './damaged.ts';
import {
  batchesOf,
  checkedBytes,
  endOf,
  readBatch,
  slotBytes,
  type FileRange,
  type BufferedRange,
} from './upload-batches.ts';

export interface UploadedChunk extends Omit<PackedChunk, 'source'> {
  source: SourceFormat | null;
  /** Values of its rows. */
  values: number;
}

export interface Wanted {
  entry: TensorEntry;
  /** Rows come in multiples of this number; 2 if not given, and 32 k's of a transposed tensor. */
  rowStep?: number;
  /** Bytes that a row takes once it is placed, if they are more than its own and must not exceed one binding either. */
  placedRowBytes?: number;
  /** Records the kernels that pack a chunk of rows. `source` is null for integers, and for scales that only their reader knows. */
  place(tape: Tape, chunk: UploadedChunk): void;
}

const CHUNK_BYTES = 8 * 2 ** 20;
/** Bytes of small tensors that are uploaded together where no tensor is larger. */
const TOGETHER_BYTES = 2 ** 20;
/** Dawn keeps a copy of written bytes until the queue has consumed them. */
const BYTES_IN_FLIGHT = 64 * 2 ** 20;

/** Returns the results of the value check. Throws bad_checkpoint for a tensor with invalid values, and the errors of reading. */
export async function uploadAll(
  device: Device,
  wanted: Wanted[],
  onProgress: (bytes: number, total: number) => void,
): Promise<CheckedTensor[]> {
  const order = wanted.sort(
    (a, b) => a.entry.source.name.localeCompare(b.entry.source.name) || a.entry.offset - b.entry.offset,
  );
  const total = order.reduce((sum, { entry }) => sum + entry.bytes, 0);
  const capacity = uploadBytes(device, wanted);
  const host = new Uint8Array(capacity);
  const raw = device.allocate('step', 'reading weights', capacity);
  const counts = createCounters(device, order.length);
  let done = 0;
  let inFlight = 0;
  try {
    for (const batch of batchesOf(rowChunks(order, capacity, device), capacity)) {
      await readBatch(batch, host);
      // A submit to a lost device ends the process where Dawn does not validate.
      await device.loss();
      if (device.isLost) throw new Error('the device was lost while weights were read');
      device.gpu.queue.writeBuffer(raw, 0, host, 0, endOf(batch));
      runOnce(device, (tape) => {
        for (const chunk of batch) placeChunk(tape, chunk, raw, wholeOf(counts));
      });
      const bytes = batch.reduce((sum, chunk) => sum + chunk.bytes, 0);
      done += bytes;
      inFlight += bytes;
      if (inFlight >= BYTES_IN_FLIGHT) {
        await device.gpu.queue.onSubmittedWorkDone();
        inFlight = 0;
      }
      onProgress(done, total);
    }
    const found = await readCounts(device, wholeOf(counts), order.length);
    const entries = order.map(({ entry }) => entry);
    refuseDamaged(entries, found);
    return entries.map((entry, i) => ({ entry, counts: found[i]! }));
  } finally {
    device.free(raw);
    device.free(counts);
  }
}

/** Rows of a wanted tensor. */
interface RowChunk extends FileRange {
  wanted: Wanted;
  /** Number of the tensor among all. */
  tensor: number;
  firstRow: number;
  rows: number;
  /** Values of the rows. */
  values: number;
}

function* rowChunks(order: readonly Wanted[], capacity: number, device: Device): Generator<RowChunk> {
  for (const [tensor, wanted] of order.entries()) {
    const entry = asRows(wanted.entry);
    if (entry.bytes === 0) continue;
    const { rows: all, rowBytes, rowsAtOnce } = rowsOf(wanted, capacity, device);
    for (let firstRow = 0; firstRow < all; firstRow += rowsAtOnce) {
      const rows = Math.min(rowsAtOnce, all - firstRow);
      const { source, offset } = entry;
      const bytes = rows * rowBytes;
      const values = (elementsOf(entry) / all) * rows;
      yield { wanted, tensor, firstRow, rows, values, source, from: offset + firstRow * rowBytes, bytes };
    }
  }
}

/** Records the check of a chunk's values and the kernels that pack it. */
function placeChunk(
  tape: Tape,
  { wanted, tensor, firstRow, rows, values, at, bytes }: RowChunk & BufferedRange,
  buffer: GPUBuffer,
  counts: Region,
): void {
  const entry = asRows(wanted.entry);
  const size = checkedBytes(bytes);
  const raw = { buffer, offset: at, size };
  const source = sourceOf(entry.dtype) ?? null;
  checkValues(tape, { raw, source, bytes: size, values }, { counts, tensor });
  wanted.place(tape, packedChunk(entry, raw, { first: firstRow, count: rows, values }));
}

/**
 * Allocates for a moment what uploading these tensors allocates; with `places`, also what placing the first chunk of each does. Throws
 * out_of_memory.
 */
export function rehearseUpload(device: Device, wanted: readonly Wanted[], places = false): void {
  const capacity = uploadBytes(device, wanted);
  const raw = device.allocate('step', 'reading weights', capacity);
  const counts = createCounters(device, wanted.length);
  // Only what is allocated matters: the tape never runs.
  const tape = new Tape(device, {});
  try {
    for (const one of places ? wanted : []) {
      const entry = asRows(one.entry);
      if (entry.bytes === 0) continue;
      const { rows, rowsAtOnce } = rowsOf(one, capacity, device);
      const count = Math.min(rows, rowsAtOnce);
      const values = (elementsOf(entry) / rows) * count;
      one.place(tape, packedChunk(entry, wholeOf(raw), { first: 0, count, values }));
    }
  } finally {
    tape.destroy();
    device.free(raw);
    device.free(counts);
  }
}

/** Rows of a tensor as it is stored, their bytes, and how many are read at once. Throws unsupported for rows that are too long. */
function rowsOf(
  { entry: stored, rowStep, placedRowBytes = 0 }: Wanted,
  capacity: number,
  device: Device,
): { rows: number; rowBytes: number; rowsAtOnce: number } {
  const entry = asRows(stored);
  const placedLimit = Math.min(CHUNK_BYTES, device.capabilities.bindingLimit);
  const rows = storedRows(entry);
  const rowBytes = entry.bytes / rows;
  const most = Math.min(capacity / rowBytes, placedLimit / placedRowBytes);
  const rowsAtOnce = stepped(Math.floor(most), rows, rowStep ?? rowStepOf(entry));
  if (rowsAtOnce > 0) return { rows, rowBytes, rowsAtOnce };
  throw unsupported(
    `tensor ${entry.name} has rows of ${Math.max(rowBytes, placedRowBytes)} bytes, above the ${capacity} that are read at once: choose another model`,
    entry.name,
  );
}

/** Bytes of the buffer that tensors are uploaded through. */
function uploadBytes(device: Device, wanted: readonly Wanted[]): number {
  const slots = wanted.map(({ entry }) => slotBytes(entry.bytes));
  const largest = slots.reduce((most, bytes) => Math.max(most, bytes), slotBytes(1));
  const all = slots.reduce((sum, bytes) => sum + bytes, 0);
  const together = Math.max(largest, Math.min(all, TOGETHER_BYTES));
  return Math.min(CHUNK_BYTES, device.capabilities.bindingLimit, together);
}

/** Allocates zeroed counters for the given number of tensors. */
function createCounters(device: Device, tensors: number): GPUBuffer {
  const counts = device.allocate('step', 'checking weights', tensors * COUNTER_BYTES);
  fillZeros(device, [wholeOf(counts)]);
  return counts;
}

/** A tensor [1, rows, k] has the rows of a table, like stored positions of patches. */
function asRows(entry: TensorEntry): TensorEntry {
  const { shape } = entry;
  return shape.length === 3 && shape[0] === 1 ? { ...entry, shape: shape.slice(1) } : entry;
}

/** Rows as a tensor is stored: those of a transposed one are its k's. */
function storedRows({ shape, isTransposed = false }: TensorEntry): number {
  return shape.length > 1 ? shape[isTransposed ? 1 : 0]! : 1;
}

/** Rows that begin on a whole word, and where blocks run across the ends of rows, on a block. */
function rowStepOf({ dtype, shape, isTransposed = false }: TensorEntry): number {
  if (isTransposed) return BLOCK;
  if (!isFlat(dtype)) return 2;
  const values = storedBlock(SOURCES[dtype]!)!.values;
  const row = shape.length > 1 ? elementsOf({ shape: shape.slice(1) }) : 1;
  let step = 2;
  while ((step * row) % values !== 0) step *= 2;
  return step;
}

function packedChunk(
  { dtype, shape, isTransposed = false }: TensorEntry,
  raw: Region,
  stored: { first: number; count: number; values: number },
): UploadedChunk {
  const chunk = { raw, source: SOURCES[dtype] ?? null, values: stored.values };
  return isTransposed
    ? { ...chunk, firstRow: 0, rows: shape[0]!, ks: stored }
    : { ...chunk, firstRow: stored.first, rows: stored.count };
}

/** Rounds down to a multiple of a step; an even number of rows begins on a whole word, even of 16-bit values. */
function stepped(atOnce: number, rows: number, step: number): number {
  return atOnce >= rows ? rows : atOnce - (atOnce % step);
}

function elementsOf({ shape }: Pick<TensorEntry, 'shape'>): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

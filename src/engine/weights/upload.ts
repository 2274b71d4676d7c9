// Uploads a checkpoint's tensors to the device in file order, a few megabytes at a time: each chunk of rows is written into one
// upload buffer, then checked and placed by kernels, so that neither side holds a whole tensor. The counters of the check are read
// back once, after the last tensor.

import { unsupported } from '../../files/error.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import type { Device } from '../../gpu/device.ts';
import type { Region } from '../../gpu/tensor.ts';
import { CHECKED_BYTES, checkValues, COUNTER_BYTES, readCounts } from '../../kernels/check-values.ts';
import { isFlat, sourceOf, SOURCES, storedBlock, type SourceFormat } from '../../kernels/formats.ts';
import { BLOCK } from '../../kernels/matrix.ts';
import type { PackedChunk } from '../../kernels/pack.ts';
import { refuseDamaged, type CheckedTensor } from './damaged.ts';

export type UploadedChunk = Omit<PackedChunk, 'source'> & { source: SourceFormat | null };

export interface Wanted {
  entry: TensorEntry;
  /** Rows come in multiples of this number; 2 if not given, and 32 k's of a transposed tensor. */
  rowStep?: number;
  /** Bytes that a row takes once it is placed, if they are more than its own and must not exceed one binding either. */
  placedRowBytes?: number;
  /** Records and runs the kernels that pack a chunk of rows. `source` is null for integers, and for scales that only their reader knows. */
  place(chunk: UploadedChunk): void;
}

const CHUNK_BYTES = 8 * 2 ** 20;
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
    for (const [tensor, one] of order.entries()) {
      const entry = asRows(one.entry);
      const { rows, rowBytes, rowsAtOnce } = chunking(one, capacity, device);
      for (let row = 0; row < rows; row += rowsAtOnce) {
        const count = Math.min(rowsAtOnce, rows - row);
        const bytes = host.subarray(0, count * rowBytes);
        await entry.source.readInto(entry.offset + row * rowBytes, bytes);
        const padded = checkedBytes(bytes.length);
        host.fill(0, bytes.length, padded);
        device.gpu.queue.writeBuffer(raw, 0, host, 0, padded);
        const source = sourceOf(entry.dtype) ?? null;
        checkValues(
          device,
          { raw: regionOf(raw), source, bytes: padded, values: (elementsOf(entry) / rows) * count },
          { counts: regionOf(counts), tensor },
        );
        one.place(chunkOf(entry, regionOf(raw), { first: row, count }));
        done += bytes.length;
        inFlight += bytes.length;
        if (inFlight >= BYTES_IN_FLIGHT) {
          await device.gpu.queue.onSubmittedWorkDone();
          inFlight = 0;
        }
        onProgress(done, total);
      }
    }
    const found = await readCounts(device, regionOf(counts), order.length);
    const entries = order.map(({ entry }) => entry);
    refuseDamaged(entries, found);
    return entries.map((entry, i) => ({ entry, counts: found[i]! }));
  } finally {
    device.free(raw);
    device.free(counts);
  }
}

/**
 * Allocates for a moment what uploading these tensors allocates; with `places`, also what placing the first chunk of each does. Throws
 * out_of_memory.
 */
export function rehearseUpload(device: Device, wanted: readonly Wanted[], places = false): void {
  const capacity = uploadBytes(device, wanted);
  const raw = device.allocate('step', 'reading weights', capacity);
  const counts = createCounters(device, wanted.length);
  try {
    for (const one of places ? wanted : []) {
      const { rows, rowsAtOnce } = chunking(one, capacity, device);
      one.place(chunkOf(asRows(one.entry), regionOf(raw), { first: 0, count: Math.min(rows, rowsAtOnce) }));
    }
  } finally {
    device.free(raw);
    device.free(counts);
  }
}

/** Rows of a tensor as it is stored, their bytes, and how many are read at once. Throws unsupported for rows that are too long. */
function chunking(
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
  const largest = wanted.reduce((most, { entry }) => Math.max(most, entry.bytes), 1);
  return Math.min(CHUNK_BYTES, device.capabilities.bindingLimit, checkedBytes(largest));
}

/** Allocates zeroed counters for the given number of tensors. */
function createCounters(device: Device, tensors: number): GPUBuffer {
  const counts = device.allocate('step', 'checking weights', tensors * COUNTER_BYTES);
  const encoder = device.gpu.createCommandEncoder();
  encoder.clearBuffer(counts);
  device.gpu.queue.submit([encoder.finish()]);
  return counts;
}

function regionOf(buffer: GPUBuffer): Region {
  return { buffer, offset: 0, size: buffer.size };
}

function checkedBytes(bytes: number): number {
  return Math.ceil(bytes / CHECKED_BYTES) * CHECKED_BYTES;
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

function chunkOf(
  { dtype, shape, isTransposed = false }: TensorEntry,
  raw: Region,
  stored: { first: number; count: number },
): UploadedChunk {
  const chunk = { raw, source: SOURCES[dtype] ?? null };
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

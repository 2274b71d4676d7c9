// Chunks of tensors that are read and uploaded together: small tensors lie beside one another in their file, so that one read and one write to the
// device bring hundreds of them.

import type { ByteSource } from '../../files/source.ts';
import { OFFSET_ALIGNMENT } from '../../gpu/operand.ts';
import { CHECKED_BYTES } from '../../kernels/check-values.ts';

/** Bytes of a file. */
export interface FileRange {
  source: Pick<ByteSource, 'readInto'>;
  from: number;
  bytes: number;
}

/** Bytes of a file with their place in the upload buffer. */
export interface BufferedRange extends FileRange {
  at: number;
}

/** Most chunks of a batch: other work of the GPU waits while one is packed. */
const MOST_CHUNKS = 512;

/** Divides chunks, each of which fits the capacity, into batches that do. */
export function* batchesOf<Chunk extends FileRange>(
  chunks: Iterable<Chunk>,
  capacity: number,
): Generator<(Chunk & BufferedRange)[]> {
  let batch: (Chunk & BufferedRange)[] = [];
  let at = 0;
  for (const chunk of chunks) {
    if (batch.length === MOST_CHUNKS || (batch.length > 0 && at + checkedBytes(chunk.bytes) > capacity)) {
      yield batch;
      batch = [];
      at = 0;
    }
    batch.push({ ...chunk, at });
    at += slotBytes(chunk.bytes);
  }
  if (batch.length > 0) yield batch;
}

/** Bytes that a chunk takes in the upload buffer. */
export function slotBytes(bytes: number): number {
  return Math.ceil(bytes / OFFSET_ALIGNMENT) * OFFSET_ALIGNMENT;
}

/** Bytes that are checked; those behind a chunk's own are zero. */
export function checkedBytes(bytes: number): number {
  return Math.ceil(bytes / CHECKED_BYTES) * CHECKED_BYTES;
}

/** The end of the last chunk in the upload buffer. */
export function endOf(batch: readonly BufferedRange[]): number {
  const { at, bytes } = batch.at(-1)!;
  return at + checkedBytes(bytes);
}

/** Fills `host` with the bytes of all chunks at their places. Throws the errors of reading. */
export async function readBatch(
  batch: readonly BufferedRange[],
  host: Uint8Array<ArrayBuffer>,
): Promise<void> {
  for (const run of runsOf(batch)) {
    const [first] = run;
    const { from, at } = first;
    const last = run.at(-1)!;
    await first.source.readInto(from, host.subarray(at, at + last.from + last.bytes - from));
    // Chunks move towards the end of the buffer, the last one first, so that none is overwritten before it has moved.
    for (const chunk of run.toReversed()) {
      const read = at + chunk.from - from;
      if (read !== chunk.at) host.copyWithin(chunk.at, read, read + chunk.bytes);
      host.fill(0, chunk.at + chunk.bytes, chunk.at + checkedBytes(chunk.bytes));
    }
  }
}

type Run = [BufferedRange, ...BufferedRange[]];

/** Chunks that lie one after the other in a file, none further from the first one than in the upload buffer. */
function runsOf(batch: readonly BufferedRange[]): Run[] {
  const runs: Run[] = [];
  for (const chunk of batch) {
    const run = runs.at(-1);
    if (run && isNext(run, chunk)) run.push(chunk);
    else runs.push([chunk]);
  }
  return runs;
}

function isNext([first, ...others]: Run, { source, from, at }: BufferedRange): boolean {
  const { from: before, bytes } = others.at(-1) ?? first;
  return source === first.source && from >= before + bytes && from - first.from <= at - first.at;
}

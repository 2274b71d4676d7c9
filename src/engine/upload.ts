// A checkpoint's tensors onto the device in file order, a few megabytes at a time: each chunk of rows is written into one
// upload buffer and placed from there by a kernel, so that neither side ever holds a whole tensor.

import { EngineError } from '../files/error.ts';
import type { TensorEntry } from '../files/checkpoint/safetensors.ts';
import type { Device } from '../gpu/device.ts';
import type { Region } from '../gpu/tensor.ts';
import type { SourceFormat } from '../kernels/matrix.ts';

export interface Wanted {
  entry: TensorEntry;
  /** Records and runs what packs a chunk of rows. */
  place(chunk: { raw: Region; source: SourceFormat; firstRow: number; rows: number }): void;
}

export const SOURCES: Readonly<Record<string, SourceFormat>> = { F32: 'f32', F16: 'f16', BF16: 'bf16' };

const CHUNK_BYTES = 8 * 2 ** 20;
/** Dawn keeps a copy of what is written until the queue has taken it. */
const BYTES_IN_FLIGHT = 64 * 2 ** 20;

export async function uploadAll(
  device: Device,
  wanted: Wanted[],
  onProgress: (bytes: number, total: number) => void,
): Promise<void> {
  const order = wanted.sort(
    (a, b) => a.entry.source.name.localeCompare(b.entry.source.name) || a.entry.offset - b.entry.offset,
  );
  const total = order.reduce((sum, { entry }) => sum + entry.bytes, 0);
  const largest = Math.max(4, ...order.map(({ entry }) => Math.ceil(entry.bytes / 4) * 4));
  const capacity = Math.min(CHUNK_BYTES, device.capabilities.bindingLimit, largest);
  const host = new Uint8Array(capacity);
  const raw = device.allocate('step', 'reading weights', capacity);
  let done = 0;
  let inFlight = 0;
  try {
    for (const { entry, place } of order) {
      const rows = entry.shape.length > 1 ? entry.shape[0]! : 1;
      const rowBytes = entry.bytes / rows;
      const rowsAtOnce = evenly(Math.floor(capacity / rowBytes), rows);
      if (rowsAtOnce === 0)
        throw new EngineError(
          'unsupported',
          `tensor ${entry.name} has rows of ${rowBytes} bytes, above the ${capacity} that are read at once: choose another model`,
          { param: entry.name },
        );
      for (let row = 0; row < rows; row += rowsAtOnce) {
        const count = Math.min(rowsAtOnce, rows - row);
        const bytes = host.subarray(0, count * rowBytes);
        await entry.source.readInto(entry.offset + row * rowBytes, bytes);
        device.gpu.queue.writeBuffer(raw, 0, host, 0, Math.ceil(bytes.length / 4) * 4);
        place({
          raw: { buffer: raw, offset: 0, size: raw.size },
          source: SOURCES[entry.dtype]!,
          firstRow: row,
          rows: count,
        });
        done += bytes.length;
        inFlight += bytes.length;
        if (inFlight >= BYTES_IN_FLIGHT) {
          await device.gpu.queue.onSubmittedWorkDone();
          inFlight = 0;
        }
        onProgress(done, total);
      }
    }
    await device.gpu.queue.onSubmittedWorkDone();
  } finally {
    device.free(raw);
  }
}

/** An even number of rows, so that a chunk of 16-bit values starts on a whole word. */
function evenly(atOnce: number, rows: number): number {
  return atOnce >= rows ? rows : atOnce - (atOnce % 2);
}

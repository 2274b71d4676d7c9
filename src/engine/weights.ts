// From a checkpoint to packed matrices on the device. A model page asks for its weights by name (bytes are reserved), then
// `load` reads the checkpoint in file order, a few megabytes at a time, and packs on the GPU. Every tensor of the checkpoint
// must have been asked for, and every one asked for must be there with the right shape.

import { EngineError } from '../files/error.ts';
import type { TensorEntry } from '../files/safetensors.ts';
import type { Device } from '../gpu/device.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';
import {
  allocateMatrix,
  interleaved,
  packRows,
  stacked,
  widen,
  type Format,
  type Matrix,
  type MatrixPart,
  type Placement,
  type SourceFormat,
} from '../kernels/matrix.ts';
import type { WeightTable } from '../models/weights.ts';

export interface LoadableWeights extends WeightTable {
  /** Reads and packs everything asked for. */
  load(onProgress?: (bytes: number, totalBytes: number) => void): Promise<void>;
  /** Elements of all tensors asked for. */
  parameters(): number;
}

interface Wanted {
  entry: TensorEntry;
  place(chunk: { raw: Region; source: SourceFormat; firstRow: number; rows: number }): void;
}

const CHUNK_BYTES = 8 * 2 ** 20;
/** Dawn keeps a copy of what is written until the queue has taken it. */
const BYTES_IN_FLIGHT = 64 * 2 ** 20;

const SOURCES: Readonly<Record<string, SourceFormat>> = { F32: 'f32', F16: 'f16', BF16: 'bf16' };

/** `format` null: as stored. */
export function openWeights(
  device: Device,
  tensors: ReadonlyMap<string, TensorEntry>,
  format: 'int8' | 'int4' | null,
): LoadableWeights {
  const wanted = new Map<string, Wanted>();
  const ignored: RegExp[] = [];

  const find = (name: string, shape: number[]): TensorEntry => {
    const entry = tensors.get(name);
    if (!entry) throw broken(name, 'is missing');
    if (entry.shape.join() !== shape.join()) {
      throw broken(
        name,
        `has the shape [${entry.shape.join(', ')}], config.json asks for [${shape.join(', ')}]`,
      );
    }
    if (!SOURCES[entry.dtype])
      throw broken(name, `is stored as ${entry.dtype}, and only F32, F16 and BF16 are read`);
    return entry;
  };

  const matrix = (parts: MatrixPart[], k: number): Matrix => {
    const entries = parts.map((part) => find(part.name, [part.rows, k]));
    const packed = allocateMatrix(device, format ?? storedFormat(entries), k, parts, parts[0]!.name);
    parts.forEach((part, i) =>
      wanted.set(part.name, {
        entry: entries[i]!,
        place: (chunk) => packRows(device, packed, part, chunk),
      }),
    );
    return packed;
  };

  /** Vectors side by side in one tensor, placed like the rows they belong to. */
  const vectors = (parts: { name: string; size: number; placement: Placement }[]): Tensor => {
    const size = parts.reduce((sum, part) => sum + part.size, 0);
    const y = device.tensor('weights', parts[0]!.name, [size], new Float32Array(size));
    for (const part of parts) {
      const entry = find(part.name, [part.size]);
      wanted.set(part.name, {
        entry,
        place: ({ raw, source }) => widen(device, y, part.placement, { raw, source, size: part.size }),
      });
    }
    return y;
  };

  const biasOf = (parts: MatrixPart[]): Tensor =>
    vectors(
      parts.map(({ name, rows, placement }) => ({
        name: name.replace(/weight$/, 'bias'),
        size: rows,
        placement,
      })),
    );

  return {
    vector: (name, size) =>
      vectors([{ name, size, placement: stacked([{ name, rows: size }])[0]!.placement }]),
    matrix(name, rows, k, bias) {
      const packed = matrix(stacked([{ name, rows }]), k);
      return bias === undefined ? packed : { ...packed, bias: biasOf(packed.parts) };
    },
    stacked(parts, k, bias = false) {
      const packed = matrix(stacked(parts), k);
      return bias ? { ...packed, bias: biasOf(packed.parts) } : packed;
    },
    gateUp(gate, up, rows, k, bias = false) {
      const packed = matrix(interleaved(gate, up, rows), k);
      return bias ? { ...packed, bias: biasOf(packed.parts) } : packed;
    },
    ignore: (names) => void ignored.push(names),
    parameters: () => [...wanted.values()].reduce((sum, { entry }) => sum + elements(entry), 0),
    async load(onProgress) {
      const left = [...tensors.keys()].filter(
        (name) => !wanted.has(name) && !ignored.some((names) => names.test(name)),
      );
      if (left.length > 0) {
        throw broken(
          left[0]!,
          `(and ${left.length - 1} more) is not part of the architecture that config.json names`,
        );
      }
      await loadAll(device, [...wanted.values()], onProgress);
    },
  };
}

async function loadAll(
  device: Device,
  wanted: Wanted[],
  onProgress?: (bytes: number, total: number) => void,
): Promise<void> {
  const order = wanted.sort(
    (a, b) => a.entry.source.name.localeCompare(b.entry.source.name) || a.entry.offset - b.entry.offset,
  );
  const total = order.reduce((sum, { entry }) => sum + entry.bytes, 0);
  const capacity = Math.min(CHUNK_BYTES, device.capabilities.bindingLimit);
  const host = new Uint8Array(capacity);
  const raw = device.allocate('step', 'upload', capacity);
  let done = 0;
  let inFlight = 0;
  try {
    for (const { entry, place } of order) {
      const rows = entry.shape.length > 1 ? entry.shape[0]! : 1;
      const rowBytes = entry.bytes / rows;
      const rowsAtOnce = evenly(Math.floor(capacity / rowBytes), rows);
      if (rowsAtOnce === 0)
        throw broken(entry.name, `has rows of ${rowBytes} bytes, above the ${capacity} read at once`);
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
        onProgress?.(done, total);
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

/** Parts of one matrix share a format; parts stored differently meet in f32, which holds them all. */
function storedFormat(entries: TensorEntry[]): Format {
  const formats = new Set(entries.map((entry) => SOURCES[entry.dtype]!));
  return formats.size === 1 ? [...formats][0]! : 'f32';
}

function elements(entry: TensorEntry): number {
  return entry.shape.reduce((product, extent) => product * extent, 1);
}

function broken(tensor: string, reason: string): EngineError {
  return new EngineError(
    'bad_checkpoint',
    `tensor ${tensor} ${reason}: fetch the checkpoint again, or one that fits its config.json`,
    {
      param: tensor,
    },
  );
}

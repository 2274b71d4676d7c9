// From a checkpoint to packed matrices on the device. A model page asks for its weights by name (bytes are reserved), then
// `load` reads the checkpoint in file order, a few megabytes at a time, and packs on the GPU. Every tensor of the checkpoint
// must have been asked for, and every one asked for must be there with the right shape.

import { EngineError } from '../files/error.ts';
import type { TensorEntry } from '../files/safetensors.ts';
import type { Device } from '../gpu/device.ts';
import type { Tensor } from '../gpu/tensor.ts';
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
} from '../kernels/matrix.ts';
import type { WeightTable } from '../models/weights.ts';
import { loadPacked, savePacked, type PackedRegion } from './packed-weights.ts';
import type { PackedSlot } from './platform.ts';
import { SOURCES, uploadAll, type Wanted } from './upload.ts';

export interface LoadOptions {
  /** Where the packed weights are kept. */
  slot?: PackedSlot | null;
  onProgress?: (bytes: number, totalBytes: number) => void;
  /** The cache could not be written: the model runs all the same. */
  onNote?: (message: string) => void;
}

export interface LoadableWeights extends WeightTable {
  /** Reads and packs everything asked for. With a slot, what was packed once is read from there from then on. */
  load(options?: LoadOptions): Promise<void>;
  /** Elements of all tensors asked for. */
  parameters(): number;
}

/** `format` null: as stored. */
export function openWeights(
  device: Device,
  tensors: ReadonlyMap<string, TensorEntry>,
  format: 'int8' | 'int4' | null,
): LoadableWeights {
  const wanted = new Map<string, Wanted>();
  const packedRegions: PackedRegion[] = [];
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
    packedRegions.push(...regionsOf(packed));
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
    packedRegions.push({ name: parts[0]!.name, region: y.region! });
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
    async load({ slot = null, onProgress = () => {}, onNote = () => {} } = {}) {
      const left = [...tensors.keys()].filter(
        (name) => !wanted.has(name) && !ignored.some((names) => names.test(name)),
      );
      if (left.length > 0) {
        throw broken(
          left[0]!,
          `(and ${left.length - 1} more) is not part of the architecture that config.json names`,
        );
      }
      if (slot && (await loadPacked(device, packedRegions, slot, onProgress))) return;
      await uploadAll(device, [...wanted.values()], onProgress);
      if (slot) await savePacked(device, packedRegions, slot).catch((cause: Error) => onNote(cause.message));
    },
  };
}

function regionsOf(matrix: Matrix): PackedRegion[] {
  const name = matrix.parts[0]!.name;
  return matrix.windows.flatMap(({ codes, scales }, i) => [
    { name: `${name}/codes/${i}`, region: codes },
    ...(scales ? [{ name: `${name}/scales/${i}`, region: scales }] : []),
  ]);
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

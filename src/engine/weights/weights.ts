// From a checkpoint to packed matrices on the device. A model page asks for its weights by name (bytes are reserved), then
// `load` reads the checkpoint in file order, a few megabytes at a time, and packs on the GPU. Every tensor of the checkpoint
// must have been asked for, and every one asked for must be there with the right shape.

import type { TensorEntry } from '../../files/checkpoint/safetensors.ts';
import type { Device } from '../../gpu/device.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import {
  allocateMatrix,
  expertParts,
  hasScales,
  interleaved,
  interleavedHalves,
  packRows,
  stacked,
  widen,
  type Format,
  type Matrix,
  type MatrixForm,
  type MatrixPart,
} from '../../kernels/matrix.ts';
import type { WeightTable } from '../../models/weights.ts';
import { refuseZeroTail } from './damaged.ts';
import { loadPacked, savePacked, type PackedRegion } from './packed.ts';
import type { PackedSlot } from '../platform.ts';
import { SOURCES, uploadAll, type Wanted } from './upload.ts';
import { weightNames } from './weight-names.ts';

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
  /** Those that low-rank adapters may add to. */
  adaptable: readonly Matrix[];
  /** Elements of all tensors asked for. */
  parameters(): number;
  /** Gives all bytes back; nothing that reads the weights may run any more. */
  free(): void;
}

const WINOGRAD_CHANNELS = 32;
/** Bytes of the budget for each byte of the checkpoint; not of what is free, for equal runs must choose alike. */
const WINOGRAD_ROOM = 8;

/** `format` null: as stored. */
export function openWeights(
  device: Device,
  tensors: ReadonlyMap<string, TensorEntry>,
  format: Format | null,
  options: { /** For plain kernels: convolutions as they are stored. */ plain?: boolean } = {},
): LoadableWeights {
  const wanted = new Map<string, Wanted>();
  const packedRegions: PackedRegion[] = [];
  const adaptable: Matrix[] = [];
  const storedBytes = [...tensors.values()].reduce((sum, { bytes }) => sum + bytes, 0);

  const names = weightNames(tensors);
  const { find } = names;

  /** Several parts may come from one tensor. */
  const want = (entry: TensorEntry, place: Wanted['place']): void => {
    const before = wanted.get(entry.name);
    wanted.set(entry.name, {
      entry,
      place(chunk) {
        before?.place(chunk);
        place(chunk);
      },
    });
  };

  /** Rows that a checkpoint's tensor has for its parts here. */
  const rowsOf = (parts: readonly { name: string; rows: number }[], name: string): number =>
    parts.reduce((sum, part) => sum + (part.name === name ? part.rows : 0), 0);

  const matrix = (
    parts: MatrixPart[],
    k: number,
    { kept, ...form }: MatrixForm & { /** As stored, whatever the format. */ kept?: boolean } = {},
  ): Matrix => {
    const { kernel = 1 } = form;
    const entries = parts.map(({ name }) =>
      find(name, [rowsOf(parts, name), k, ...(kernel > 1 ? [kernel, kernel] : [])]),
    );
    // Sums of nine weights need more digits than the weights do.
    const stored = form.winograd ? 'f32' : ((kept ? null : format) ?? storedFormat(entries));
    const packed = allocateMatrix(device, stored, k, parts, parts[0]!.name, form);
    packedRegions.push(...regionsOf(packed));
    parts.forEach((part, i) => want(entries[i]!, (chunk) => packRows(device, packed, part, chunk)));
    return packed;
  };

  /**
   * Winograd's form takes seven bytes a weight, three and a half times those of 16-bit weights. It pays where a product costs more than moving what is
   * multiplied, which is known of CPUs, and not where int8 or int4 were asked for, to save bytes.
   */
  const gainsByWinograd = (out: number, channels: number): boolean =>
    !options.plain &&
    device.profile.winograd &&
    !hasScales(format ?? 'f32') &&
    Math.min(out, channels) >= WINOGRAD_CHANNELS &&
    WINOGRAD_ROOM * storedBytes <= device.memoryBudget;

  const allocate = (name: string, shape: number[]): Tensor => {
    const count = shape.reduce((product, extent) => product * extent, 1);
    const y = device.tensor('weights', name, shape, new Float32Array(count));
    packedRegions.push({ name, region: y.region! });
    return y;
  };

  /** Vectors side by side in one tensor, placed like the rows they belong to. */
  const vectors = (parts: readonly MatrixPart[]): Tensor => {
    // All of them are in the file before a byte is taken on the device for what a config asks for.
    const entries = parts.map(({ name }) => find(name, [rowsOf(parts, name)]));
    const y = allocate(parts[0]!.name, [parts.reduce((sum, part) => sum + part.rows, 0)]);
    parts.forEach(({ rows, firstRow, placement }, i) =>
      want(entries[i]!, ({ raw, source }) =>
        widen(device, y, placement, { raw, source, size: rows, skip: firstRow }),
      ),
    );
    return y;
  };

  const biasOf = (parts: readonly MatrixPart[]): Tensor =>
    vectors(parts.map((part) => ({ ...part, name: part.name.replace(/weight$/, 'bias') })));

  const withBias = (packed: Matrix, bias: boolean): Matrix =>
    bias ? { ...packed, bias: biasOf(packed.parts) } : packed;

  const named = (packed: Matrix): Matrix => {
    adaptable.push(packed);
    return packed;
  };

  return {
    has: (name) => tensors.has(name),
    vector: (name, size) => vectors(stacked([{ name, rows: size }])),
    table(name, rows, columns) {
      const entry = find(name, [rows, columns]);
      const y = allocate(name, [rows, columns]);
      want(entry, ({ raw, source, firstRow, rows: count }) => {
        const placement = { firstColumn: firstRow * y.stride, unit: columns, unitStride: y.stride };
        widen(device, y, placement, { raw, source, size: count * columns });
      });
      return y;
    },
    matrix(name, rows, k, bias) {
      const packed = matrix(stacked([{ name, rows }]), k);
      return named(
        bias === undefined ? packed : { ...packed, bias: vectors(stacked([{ name: bias, rows }])) },
      );
    },
    router: (name, rows, k) => matrix(stacked([{ name, rows }]), k, { kept: true }),
    experts(experts, rows, k) {
      const each = experts.map((name) => stacked([{ name, rows }]));
      return matrix(expertParts(each), k, { experts: experts.length });
    },
    expertGateUps(pairs, rows, k) {
      const each = pairs.map(({ gate, up }) => interleaved(gate, up, rows));
      return matrix(expertParts(each), k, { experts: pairs.length });
    },
    conv(name, out, channels, kernel, { bias = true, stride = 1 } = {}) {
      const parts = stacked([{ name, rows: out }]);
      const winograd = kernel === 3 && stride === 1 && gainsByWinograd(out, channels);
      return withBias(matrix(parts, channels, { kernel, winograd }), bias);
    },
    stacked: (parts, k, bias = false) => named(withBias(matrix(stacked(parts), k), bias)),
    gateUp: (gate, up, rows, k, bias = false) =>
      named(withBias(matrix(interleaved(gate, up, rows), k), bias)),
    geglu: (name, rows, k, bias = false) => withBias(matrix(interleavedHalves(name, rows), k), bias),
    ignore: names.ignore,
    adaptable,
    parameters: () => [...wanted.values()].reduce((sum, { entry }) => sum + elements(entry), 0),
    free: () => packedRegions.forEach(({ region }) => device.free(region.buffer)),
    async load({ slot = null, onProgress = () => {}, onNote = () => {} } = {}) {
      names.requireAll();
      if (slot && (await loadPacked(device, packedRegions, slot, onProgress))) return;
      refuseZeroTail(await uploadAll(device, [...wanted.values()], onProgress));
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

// The matrices of a page that are quantized with a low-rank part: those of layers that are stored as numbers, each with all tensors that one product
// reads, so that they share the factor that reads their input.

import type { TensorEntry } from '../../../files/tensors/safetensors.ts';
import type { WeightRequest } from '../../../models/weights.ts';
import { layerNames } from '../layers.ts';
import type { SvdquantSettings } from './settings.ts';

type Tensors = ReadonlyMap<string, TensorEntry>;

const NUMBERS: readonly string[] = ['F32', 'F16', 'BF16'];
/** Inputs are whole blocks of so many, as codes are packed. */
const BLOCK = 32;

export interface Target {
  names: readonly string[];
  /** Rows of each. */
  rows: readonly number[];
  k: number;
}

/** Throws nothing: matrices for which the rank or the groups are too large keep their numbers. */
export function targetsOf(
  requests: readonly WeightRequest[],
  tensors: Tensors,
  { rank, groupKs }: SvdquantSettings,
): Target[] {
  const uses = new Map<string, number>();
  for (const { names } of requests)
    for (const name of new Set(names)) uses.set(name, (uses.get(name) ?? 0) + 1);
  return requests.flatMap(({ names, rows, k, role, kernel, stored, time, orders }): Target[] => {
    const isMatrix = role === 'linear' && kernel === 1 && !stored && !time && !orders;
    const own = names.map((name) => tensors.get(name));
    const isNumbers = own.every((entry) => entry && isPlain(entry) && entry.shape.length === 2);
    const isAlone = names.every((name) => uses.get(name) === 1) && layerNames(names).length > 0;
    const smaller = Math.min(
      k,
      rows.reduce((sum, count) => sum + count, 0),
    );
    const fits = k % groupKs === 0 && k % BLOCK === 0 && 2 * rank <= smaller;
    return isMatrix && isNumbers && isAlone && fits ? [{ names, rows, k }] : [];
  });
}

/** Whether a tensor alone may be such a matrix. */
export const fits = (entry: TensorEntry, { rank, groupKs }: SvdquantSettings): boolean => {
  const { name, shape } = entry;
  const [rows = 0, k = 0] = shape;
  const isMatrix = shape.length === 2 && layerNames([name]).length > 0 && isPlain(entry);
  return isMatrix && k % groupKs === 0 && k % BLOCK === 0 && 2 * rank <= Math.min(rows, k);
};

const isPlain = ({ dtype, coded, isTransposed = false }: TensorEntry): boolean =>
  NUMBERS.includes(dtype) && !coded && !isTransposed;

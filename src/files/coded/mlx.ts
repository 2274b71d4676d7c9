// Names and shapes of MLX's quantized weights: integers with a scale and an offset for a group of inputs, and MXFP4. source: mlx's quantize and
// mlx-lm's models.

import { isRecord } from '../source.ts';
import { mlxPathOf, rearrangeMlx } from './mlx-names.ts';
import {
  broken,
  checkShape,
  tensorOf,
  unsupported,
  type CodedReader,
  type CodedTensors,
  type CodedWeight,
  type Header,
  type Stored,
} from '../tensors/coded-tensor.ts';

type Settings = Readonly<Record<string, unknown>>;
type Tensors<Entry> = ReadonlyMap<string, Entry>;

const WEIGHT = '.weight';
const SCALES = '.scales';
const WORD = 32;
/** k's of a group where the settings state none, by the mode. */
const GROUP_KS = { affine: 64, mxfp4: 32 };

/** How a module is quantized. */
interface Form {
  mode: 'affine' | 'mxfp4';
  bits: 4 | 8;
  groupKs: number;
}

/** Whether settings, of all modules or of one, are read: 4 and 8 bits, MXFP4. */
export function isMlxForm({ bits, mode = 'affine' }: Settings): boolean {
  return (mode === 'affine' && (bits === 4 || bits === 8)) || (mode === 'mxfp4' && bits === 4);
}

/** `settings`: bits, group_size and mode, and such settings of single modules by their paths. */
export function mlxReader(settings: Settings): CodedReader {
  return {
    rearrange: (tensors) => rearrangeMlx(tensors, (module) => formOf(module, settings).mode === 'mxfp4'),
    moduleOf({ name, dtype }) {
      if (name.endsWith(SCALES)) return name.slice(0, -SCALES.length);
      return dtype === 'U32' && name.endsWith(WEIGHT) ? name.slice(0, -WEIGHT.length) : null;
    },
    read: (module, tensors) => readModule(module, tensors, formOf(module, settings)),
  };
}

function formOf(module: string, settings: Settings): Form {
  const path = mlxPathOf(module);
  const own = settings[path];
  const { bits, mode = 'affine', group_size: groupKs } = isRecord(own) ? { ...settings, ...own } : settings;
  if (!isMlxForm({ bits, mode }))
    throw unsupported(
      path,
      `${path} is of ${String(bits)} bits in mode ${String(mode)} by config.json, and affine of 4 and 8 bits and mxfp4 are read`,
    );
  const form = mode as Form['mode'];
  return {
    mode: form,
    bits: bits === 4 ? 4 : 8,
    groupKs: typeof groupKs === 'number' ? groupKs : GROUP_KS[form],
  };
}

function readModule<Entry extends Stored>(
  module: string,
  tensors: Tensors<Entry>,
  { bits, groupKs }: Form,
): CodedWeight<Entry> {
  const codes = tensorOf(tensors, module + WEIGHT, { dtypes: ['U32'], dimensions: 2 });
  const scales = tensorOf(tensors, module + SCALES, { dtypes: ['F16', 'BF16'], dimensions: 2 });
  const [rows = 0, words = 0] = codes.shape;
  const k = (words * WORD) / bits;
  const why = `${rows} outputs of ${k} inputs in groups of ${groupKs}`;
  if (k % groupKs !== 0)
    throw broken(codes.name, `tensor ${codes.name} has ${k} inputs in groups of ${groupKs}`);
  checkShape(scales, [rows, k / groupKs], why);
  const coded: CodedTensors<Entry> = {
    rule: 'affine',
    bits,
    layout: 'rows',
    signed: false,
    groupKs,
    codes,
    scales,
    offsets: offsetsOf(module, tensors, scales, why),
    zeros: null,
    groupOf: null,
    order: null,
  };
  return { rows, k, coded };
}

/** Offsets are stored as their scales are. */
function offsetsOf<Entry extends Header>(
  module: string,
  tensors: Tensors<Entry>,
  scales: Header,
  why: string,
): Entry {
  const offsets = tensorOf(tensors, `${module}.biases`, { dtypes: [scales.dtype], dimensions: 2 });
  checkShape(offsets, scales.shape, why);
  return offsets;
}

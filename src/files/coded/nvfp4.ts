// Names and shapes of NVFP4: floats of E2M1, two a byte, with a scale of E4M3 for 16 inputs and a factor in f32 for the matrix. ModelOpt's factor
// multiplies, that of compressed-tensors divides. source: ModelOpt's NVFP4QTensor, compressed-tensors' NVFP4PackedCompressor.

import { isRecord } from '../source.ts';
import { computedTensor } from './computed-rows.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import {
  broken,
  checkShape,
  tensorOf,
  unsupported,
  type CodedReader,
  type CodedTensors,
  type CodedWeight,
  type Stored,
} from '../tensors/coded-tensor.ts';

type Settings = Readonly<Record<string, unknown>>;

/** Names of a module's tensors, after the module's own. */
interface Names {
  codes: string;
  factor: string;
  /** Whether the factor divides. */
  divides: boolean;
}

const NVFP4_MULTIPLIED: Names = { codes: '.weight', factor: '.weight_scale_2', divides: false };
export const NVFP4_DIVIDED: Names = {
  codes: '.weight_packed',
  factor: '.weight_global_scale',
  divides: true,
};

/** ModelOpt's algorithms that store such weights; the second computes with activations as they are. */
const ALGORITHMS = ['NVFP4', 'W4A16_NVFP4'];

/** Whether a group of compressed-tensors' configuration is of such weights. */
export function isNvfp4Group({
  format,
  type,
  bits,
  groupSize,
}: Readonly<{ format: unknown; type: unknown; bits: unknown; groupSize: unknown }>): boolean {
  return format === 'nvfp4-pack-quantized' && type === 'float' && bits === 4 && groupSize === GROUP_KS;
}

/** Whether ModelOpt's settings are of NVFP4 for all that is quantized, or of NVFP4 and `others` by layers. */
export function isModelOptNvfp4(settings: Settings, others: readonly string[]): boolean {
  const { quant_algo: algorithm, quantized_layers: layers, group_size: groupKs } = settings;
  if (groupKs !== undefined && groupKs !== null && groupKs !== GROUP_KS) return false;
  if (!isRecord(layers)) return ALGORITHMS.includes(String(algorithm));
  const stated = Object.values(layers).map((layer) => (isRecord(layer) ? String(layer['quant_algo']) : ''));
  return (
    stated.some((one) => ALGORITHMS.includes(one)) &&
    stated.every((one) => ALGORITHMS.includes(one) || others.includes(one))
  );
}

export function modelOptReader(): CodedReader {
  const { codes } = NVFP4_MULTIPLIED;
  return {
    redundant: ['.input_scale'],
    moduleOf: ({ name, dtype }) =>
      dtype === 'U8' && name.endsWith(codes) ? name.slice(0, -codes.length) : null,
    read: (module, tensors) => readNvfp4(module, tensors, NVFP4_MULTIPLIED),
  };
}

/** Inputs that share a scale, and those of four scales, which are a word. */
const GROUP_KS = 16;
const WORD_KS = 64;

export function readNvfp4<Entry extends Stored>(
  module: string,
  tensors: ReadonlyMap<string, Entry>,
  names: Names,
): CodedWeight<Entry> {
  const codes = tensorOf(tensors, module + names.codes, { dtypes: ['U8'], dimensions: 2 });
  const scales = tensorOf(tensors, `${module}.weight_scale`, { dtypes: ['F8_E4M3'], dimensions: 2 });
  const [rows = 0, bytes = 0] = codes.shape;
  const k = 2 * bytes;
  const smoothed = `${module}.pre_quant_scale`;
  if (tensors.has(smoothed))
    throw unsupported(smoothed, `tensor ${smoothed} scales the inputs of ${codes.name}, which is not read`);
  if (k % WORD_KS !== 0)
    throw unsupported(
      codes.name,
      `${codes.name} has ${k} inputs, and NVFP4 is read of multiples of ${WORD_KS}`,
    );
  checkShape(scales, [rows, k / GROUP_KS], `${rows} outputs of ${k} inputs in groups of ${GROUP_KS}`);
  const coded: CodedTensors<Entry> = {
    rule: 'nvfp4',
    bits: 4,
    layout: 'rows',
    signed: false,
    groupKs: k,
    codes,
    scales: { ...scales, dtype: 'U32', shape: [rows, k / WORD_KS] },
    zeros: null,
    offsets: factorOf(module, tensors, names),
    groupOf: null,
    order: null,
  };
  return { rows, k, coded };
}

function factorOf<Entry extends Stored>(
  module: string,
  tensors: ReadonlyMap<string, Entry>,
  { factor: name, divides }: Names,
): Entry {
  const entry = tensors.get(module + name);
  const isOne = entry?.dtype === 'F32' && entry.shape.every((extent) => extent === 1);
  if (!entry || !isOne) {
    const found = entry ? `is ${entry.dtype} of [${entry.shape.join(', ')}]` : 'is missing';
    throw broken(module + name, `tensor ${module + name} ${found}, and one value of F32 is read`);
  }
  return divides ? { ...entry, ...inverse(entry) } : entry;
}

/** One divided by a tensor's value. */
function inverse({ name, source, offset, bytes, shape }: Stored): Stored {
  const base = { name, dtype: 'F32', source, offset, bytes, shape: [...shape] } satisfies TensorEntry;
  return computedTensor(base, base, {
    rows: 1,
    rowBytes: 4,
    async read() {
      const stored = await source.read(offset, bytes);
      return new Uint8Array(Float32Array.of(1 / new Float32Array(stored.slice().buffer)[0]!).buffer);
    },
  });
}

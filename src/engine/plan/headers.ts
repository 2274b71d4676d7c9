// Headers of tensors by configuration alone: names, shapes and types as a model's page asks for them, with the names that an index lists.

import { unsupported } from '../../files/error.ts';
import type { Dtype } from '../../files/tensors/safetensors.ts';
import { isRecord, readJson, type Folder } from '../../files/source.ts';
import { tensorsOf } from '../../models/weights.ts';
import type { WeightTable } from '../../models/weights.ts';
import type { TensorHeader } from '../weights/check.ts';
import { SCALE_SUFFIXES } from '../weights/scales.ts';
import { collect } from '../weights/collect.ts';

export interface PlannedHeader extends TensorHeader {
  bytes: number;
}

const DTYPES: Readonly<Record<string, Dtype>> = { float32: 'F32', float16: 'F16', bfloat16: 'BF16' };
const BYTES: Readonly<Partial<Record<Dtype, number>>> = {
  F32: 4,
  F16: 2,
  BF16: 2,
  F8_E4M3: 1,
  F8_E8M0: 1,
  F4: 0.5,
};

/** The type of weights that a configuration states; transformers and diffusers take f32 where it states none. Throws unsupported for other types. */
export function statedDtype(config: Readonly<Record<string, unknown>>): Dtype {
  const key = config['torch_dtype'] == null ? 'dtype' : 'torch_dtype';
  const stated = config[key] ?? 'float32';
  const dtype = typeof stated === 'string' ? DTYPES[stated.replace(/^torch\./, '')] : undefined;
  if (dtype !== undefined) return dtype;
  throw unsupported(
    `config.json: ${key} ${JSON.stringify(stated)} is not built; choose a model whose weights are ${Object.keys(DTYPES).join(', ')}`,
    key,
  );
}

/** Whether config.json says that experts are codes of MXFP4. */
function hasMxfp4(config: Readonly<Record<string, unknown>>): boolean {
  const { quantization_config: settings } = config;
  return isRecord(settings) && settings['quant_method'] === 'mxfp4';
}

/** k's of an exponent of MXFP4. */
const EXPONENT_KS = 32;

/** The headers with those of experts as codes of MXFP4, and their exponents, where config.json says so. */
export function withMxfp4(
  page: (weights: WeightTable) => unknown,
  headers: ReadonlyMap<string, PlannedHeader>,
  config: Readonly<Record<string, unknown>>,
): Map<string, PlannedHeader> {
  const all = new Map(headers);
  if (!hasMxfp4(config)) return all;
  const { requests } = collect(new Set(headers.keys()), page);
  const header = (name: string, dtype: Dtype, shape: number[]): PlannedHeader => {
    const elements = shape.reduce((product, extent) => product * extent, 1);
    return { name, dtype, shape, bytes: elements * BYTES[dtype]! };
  };
  for (const { names, rows, k } of requests.filter(({ role }) => role === 'expert')) {
    names.forEach((name, i) => {
      all.set(name, header(name, 'F4', [rows[i]!, k]));
      const scale = `${name}_scale`;
      all.set(scale, header(scale, 'F8_E8M0', [rows[i]!, Math.ceil(k / EXPONENT_KS)]));
    });
  }
  return all;
}

/** Headers as the page asks for them. `listed`: names of the checkpoint's tensors, where an index has them. */
export function requestedHeaders(
  page: (weights: WeightTable) => unknown,
  listed: readonly string[] | null,
  dtype: Dtype,
): Map<string, PlannedHeader> {
  const names = new Set(listed);
  const { requests } = collect(names, page);
  // The scales of FP8 weights are listed beside them.
  const dtypeOf = (name: string): Dtype =>
    SCALE_SUFFIXES.some((suffix) => names.has(name + suffix)) ? 'F8_E4M3' : dtype;
  const shapes = new Map(requests.flatMap(tensorsOf).map(({ name, shape }) => [name, shape]));
  return new Map(
    (listed ?? [...shapes.keys()]).map((name): [string, PlannedHeader] => {
      const shape = [...(shapes.get(name) ?? [])];
      const elements = shape.reduce((product, extent) => product * extent, 1);
      const stored = dtypeOf(name);
      return [name, { name, dtype: stored, shape, bytes: elements * (BYTES[stored] ?? 4) }];
    }),
  );
}

/** Indexes of the weights of language models, the preferred one first. */
const INDEXES = ['model.safetensors.index.json', 'pytorch_model.bin.index.json'];

/** The tensors that the index of a language model lists; null: it has none. */
export async function listedNames(folder: Folder): Promise<string[] | null> {
  const files = await folder.names();
  const index = INDEXES.find((name) => files.includes(name));
  if (index === undefined) return null;
  const { weight_map: map } = await readJson(folder, index);
  return isRecord(map) ? Object.keys(map) : null;
}

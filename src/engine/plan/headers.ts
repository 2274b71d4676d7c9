// Names, shapes and types of a checkpoint's tensors without the tensors: from the headers of its files, or where these are not there
// from what the model's page asks for, with the names that an index lists.

import { EngineError } from '../../files/error.ts';
import type { Dtype } from '../../files/checkpoint/safetensors.ts';
import { isRecord, readJson, type Folder } from '../../files/source.ts';
import { tensorsOf } from '../../models/weights.ts';
import type { WeightTable } from '../../models/weights.ts';
import type { TensorHeader } from '../weights/check.ts';
import { collect } from '../weights/collect.ts';

export interface PlannedHeader extends TensorHeader {
  bytes: number;
}

export interface Headers {
  tensors: Map<string, PlannedHeader>;
  source: 'headers' | 'config';
}

const WEIGHT_FILE = /\.(safetensors|bin|pt|pth|ckpt|gguf)$|\.index\.json$/;

/** A folder that is taken to have its weights where it has none of any kind: only its configuration is there. */
export function assumingWeights(folder: Folder, file: string): Folder {
  return {
    path: folder.path,
    open: (name) => folder.open(name),
    async names() {
      const names = await folder.names();
      return names.some((name) => WEIGHT_FILE.test(name)) ? names : [...names, file];
    },
  };
}

/** Whether an error says that a file of the weights is not there. */
export function isMissing(error: unknown): boolean {
  return (
    error instanceof EngineError &&
    error.code === 'bad_checkpoint' &&
    /is missing|has no .*safetensors|has neither/.test(error.message)
  );
}

const DTYPES: Readonly<Record<string, Dtype>> = { float32: 'F32', float16: 'F16', bfloat16: 'BF16' };
const BYTES: Readonly<Partial<Record<Dtype, number>>> = { F32: 4, F16: 2, BF16: 2 };

/** The type that config.json states; f32 is transformers' own where it states none. */
export function statedDtype(config: Readonly<Record<string, unknown>>): Dtype {
  const stated = config['torch_dtype'] ?? config['dtype'];
  return DTYPES[String(stated).replace(/^torch\./, '')] ?? 'F32';
}

/** Headers as the page asks for them. `listed`: names of the checkpoint's tensors, where an index has them. */
export function requestedHeaders(
  page: (weights: WeightTable) => unknown,
  listed: readonly string[] | null,
  dtype: Dtype,
): Headers {
  const { requests } = collect(new Set(listed), page);
  const shapes = new Map(requests.flatMap(tensorsOf).map(({ name, shape }) => [name, shape]));
  const tensors = new Map(
    (listed ?? [...shapes.keys()]).map((name): [string, PlannedHeader] => {
      const shape = [...(shapes.get(name) ?? [])];
      const elements = shape.reduce((product, extent) => product * extent, 1);
      return [name, { name, dtype, shape, bytes: elements * (BYTES[dtype] ?? 4) }];
    }),
  );
  return { tensors, source: 'config' };
}

/** Names of the tensors that an index of shards lists; null: there is none. */
export async function indexedNames(folder: Folder, index: string): Promise<string[] | null> {
  if (!(await folder.names()).includes(index)) return null;
  const { weight_map: map } = await readJson(folder, index);
  return isRecord(map) ? Object.keys(map) : null;
}

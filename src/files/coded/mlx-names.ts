// Tensors of MLX folders under the names and in the shapes of transformers: experts, which MLX stacks, one by one; kernels of short
// convolutions, whose channels MLX puts last; codes of MXFP4 and their exponents, which MLX stores as integers.

import type { Stored } from '../tensors/coded-tensor.ts';

const STACKED = /^(.*)\.switch_mlp\.(\w+)\.(weight|scales|biases)$/;
const EXPERT = /\.experts\.\d+\.(\w+)$/;
const CONVOLUTION = /\.conv\.weight$/;

/** Mixtral's names of an expert's projections. */
const MIXTRAL: Readonly<Record<string, string>> = { gate_proj: 'w1', down_proj: 'w2', up_proj: 'w3' };
const MIXTRAL_BLOCK = /\.block_sparse_moe$/;

/** `isMxfp4`: whether a module's codes are MXFP4. */
export function rearrangeMlx<Entry extends Stored>(
  tensors: ReadonlyMap<string, Entry>,
  isMxfp4: (module: string) => boolean,
): Map<string, Entry> {
  const entries = [...tensors.values()].flatMap(rearranged).map((entry) => typed(entry, isMxfp4));
  return new Map(entries.map((entry) => [entry.name, entry]));
}

const QUANTIZED = /^(.*)\.(weight|scales)$/;
/** Codes of 4 bits in a word. */
const PER_WORD = 8;

/** Codes of MXFP4 as F4 with exponents beside them. */
function typed<Entry extends Stored>(entry: Entry, isMxfp4: (module: string) => boolean): Entry {
  const { name, dtype, shape } = entry;
  const [, module = '', part = ''] = QUANTIZED.exec(name) ?? [];
  if (module === '' || !isMxfp4(module)) return entry;
  if (part === 'scales') return { ...entry, name: `${module}.weight_scale`, dtype: 'F8_E8M0' };
  if (dtype !== 'U32') return entry;
  return { ...entry, dtype: 'F4', shape: [...shape.slice(0, -1), shape.at(-1)! * PER_WORD] };
}

function rearranged<Entry extends Stored>(entry: Entry): Entry[] {
  const { name, shape } = entry;
  const [first = 0, ...rest] = shape;
  if (CONVOLUTION.test(name) && rest.length === 2 && rest[1] === 1)
    return [{ ...entry, shape: [first, 1, rest[0]!] }];
  const [, block = '', projection = '', part = ''] = STACKED.exec(name) ?? [];
  if (block === '' || rest.length === 0) return [entry];
  const own = MIXTRAL_BLOCK.test(block) ? (MIXTRAL[projection] ?? projection) : projection;
  const bytes = entry.bytes / first;
  return Array.from({ length: first }, (_, expert) => ({
    ...entry,
    name: `${block}.experts.${expert}.${own}.${part}`,
    shape: rest,
    offset: entry.offset + expert * bytes,
    bytes,
  }));
}

/** The path of a module in MLX, by which config.json states settings of its own. */
export function mlxPathOf(module: string): string {
  return module.replace(EXPERT, (_, own: string) => {
    const projection = Object.keys(MIXTRAL).find((each) => MIXTRAL[each] === own) ?? own;
    return `.switch_mlp.${projection}`;
  });
}

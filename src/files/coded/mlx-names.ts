// Tensors of MLX folders under the names and in the shapes of transformers: experts, which MLX stacks, one by one, and kernels of short
// convolutions, whose channels MLX puts last.

import type { Stored } from './coded-tensor.ts';

const STACKED = /^(.*)\.switch_mlp\.(\w+)\.(weight|scales|biases)$/;
const EXPERT = /\.experts\.\d+\.(\w+)$/;
const CONVOLUTION = /\.conv\.weight$/;

/** Mixtral's names of an expert's projections. */
const MIXTRAL: Readonly<Record<string, string>> = { gate_proj: 'w1', down_proj: 'w2', up_proj: 'w3' };
const MIXTRAL_BLOCK = /\.block_sparse_moe$/;

export function rearrangeMlx<Entry extends Stored>(tensors: ReadonlyMap<string, Entry>): Map<string, Entry> {
  return new Map([...tensors.values()].flatMap(rearranged).map((entry) => [entry.name, entry]));
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

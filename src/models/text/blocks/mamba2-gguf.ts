// Mamba-2 blocks in GGUF files. Rates of decay are stored as -exp(A_log), vectors of heads as matrices of one column, and weights of norms
// by groups.

import { MOST_LAYERS } from './gguf-config.ts';
import type { GgufTensor } from '../../../files/gguf/gguf.ts';
import type { GgufModel, GgufPart } from '../../../files/gguf/model.ts';

/** Tensors of a layer, by the block's names. */
const NAMES: Readonly<Record<string, string>> = {
  'ssm_in.weight': 'in_proj.weight',
  'ssm_in.bias': 'in_proj.bias',
  'ssm_conv1d.weight': 'conv1d.weight',
  'ssm_conv1d.bias': 'conv1d.bias',
  ssm_a: 'A',
  ssm_d: 'D',
  'ssm_dt.bias': 'dt_bias',
  'ssm_norm.weight': 'norm.weight',
  'ssm_out.weight': 'out_proj.weight',
  'ssm_out.bias': 'out_proj.bias',
};
const FLAT: readonly string[] = ['A', 'D', 'norm.weight'];
const LAYER = /^blk\.(\d+)\.(ssm_.+)$/;

/** The part of a tensor that belongs to the block `module` of its layer; null: it is none of a Mamba-2 block. `prefix`: the module of the layers. */
export function mambaParts(
  { name, shape }: Pick<GgufTensor, 'name' | 'shape'>,
  module: string,
  prefix = 'model.',
): readonly GgufPart[] | null {
  const [, layer, tensor] = LAYER.exec(name) ?? [];
  const own = tensor === undefined ? undefined : NAMES[tensor];
  if (own === undefined) return null;
  const values = shape.reduce((product, size) => product * size, 1);
  return [
    { name: `${prefix}layers.${layer}.${module}.${own}`, shape: FLAT.includes(own) ? [values] : shape },
  ];
}

/** Sizes of the block. Throws unsupported for heads that do not divide its columns. */
export function mambaSizes({ keys, architecture, tensors }: GgufModel) {
  const own = (key: string): string => `${architecture}.ssm.${key}`;
  const heads = keys.count(own('time_step_rank'));
  const inner = keys.count(own('inner_size'));
  if (inner % heads !== 0)
    throw keys.unsupported(own('inner_size'), `it has to be a multiple of ${heads} heads`);
  const has = (tensor: RegExp): boolean => [...tensors.keys()].some((name) => tensor.test(name));
  return {
    heads,
    inner,
    dims: inner / heads,
    groups: keys.count(own('group_count')),
    stateDims: keys.count(own('state_size')),
    taps: keys.count(own('conv_kernel')),
    convBias: has(/ssm_conv1d\.bias$/),
    bias: has(/ssm_in\.bias$/),
    norm: has(/ssm_norm\.weight$/),
  };
}

/** The sizes as most hybrids name their keys. */
export function mambaKeys(model: GgufModel): Record<string, unknown> {
  const { heads, dims, groups, stateDims, taps, convBias, bias } = mambaSizes(model);
  return {
    mamba_n_heads: heads,
    mamba_d_head: dims,
    mamba_n_groups: groups,
    mamba_d_state: stateDims,
    mamba_d_conv: taps,
    mamba_conv_bias: convBias,
    mamba_proj_bias: bias,
  };
}

/** Names in the file of the sizes, for messages. */
export function mambaMetadata(architecture: string): Readonly<Record<string, string>> {
  return {
    mamba_n_heads: `${architecture}.ssm.time_step_rank`,
    mamba_d_head: `${architecture}.ssm.inner_size`,
    mamba_n_groups: `${architecture}.ssm.group_count`,
    mamba_d_state: `${architecture}.ssm.state_size`,
    mamba_d_conv: `${architecture}.ssm.conv_kernel`,
  };
}

/** What `kindOf` makes of each layer, given whether the layer has a tensor of a name. */
export function layerKinds<Kind>(
  { tensors }: GgufModel,
  layers: number,
  kindOf: (has: (tensor: string) => boolean) => Kind,
): Kind[] {
  return Array.from({ length: Math.min(layers, MOST_LAYERS) }, (_, i) =>
    kindOf((tensor) => tensors.has(`blk.${i}.${tensor}`)),
  );
}

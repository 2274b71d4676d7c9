// The Mamba-2 block that a config.json describes, as most hybrids name its keys.

import { isJsonObject, shown, type ConfigReader } from '../../config-values.ts';
import type { MambaShape } from './mamba2.ts';

/** Values of transformers' configuration classes for keys that are left out. */
const DEFAULTS = { heads: 128, groups: 1, stateDims: 256, taps: 4, expand: 2 };

/** Reads the block whose keys begin with `mamba_`. `inner`: columns of its heads; left out: mamba_expand times `hidden`. */
export function readMamba(config: ConfigReader, hidden: number, inner?: number): MambaShape {
  const heads = config.count('mamba_n_heads', DEFAULTS.heads);
  const values = inner ?? config.count('mamba_expand', DEFAULTS.expand) * hidden;
  const isStated = config.values['mamba_d_head'] != null && config.values['mamba_d_head'] !== 'auto';
  const bias = config.flag('mamba_proj_bias', false);
  const shape: MambaShape = {
    heads,
    dims: isStated ? config.count('mamba_d_head') : values / heads,
    groups: config.count('mamba_n_groups', DEFAULTS.groups),
    stateDims: config.count('mamba_d_state', DEFAULTS.stateDims),
    taps: config.count('mamba_d_conv', DEFAULTS.taps),
    convBias: config.flag('mamba_conv_bias', true),
    bias,
    outBias: bias,
    limits: readLimits(config),
    eps: config.real('rms_norm_eps', 1e-6),
    norm: 'gated',
  };
  if (shape.dims * heads !== values) {
    const problem = `is ${heads}, and so many heads of ${shape.dims} are not the ${values} columns of the block`;
    throw config.error('bad_checkpoint', 'mamba_n_heads', `${problem}: ${PUBLISHED}`);
  }
  return checkedMamba(config, shape, {
    dims: 'mamba_d_head',
    stateDims: 'mamba_d_state',
    groups: 'mamba_n_groups',
  });
}

const PUBLISHED = 'take the values that the model was published with';

/** Returns the shape. Throws for sizes that kernels do not have; `keys`: keys of the sizes. */
export function checkedMamba(
  config: ConfigReader,
  shape: MambaShape,
  keys: Record<'dims' | 'stateDims' | 'groups', string>,
): MambaShape {
  const { heads, groups } = shape;
  if (heads % groups !== 0)
    throw config.error(
      'bad_checkpoint',
      keys.groups,
      `is ${groups}, which does not divide the ${heads} heads: ${PUBLISHED}`,
    );
  for (const size of ['dims', 'stateDims'] as const) {
    if (shape[size] % 4 === 0 && shape[size] <= MOST_DIMS) continue;
    const problem = `${shape[size]} is not built; choose a model with a multiple of 4 up to ${MOST_DIMS}`;
    throw config.error('unsupported', keys[size], problem);
  }
  return shape;
}

/** Dimensions of a head, and of its state. */
const MOST_DIMS = 256;

/** Limits of the steps by time_step_limit, in which transformers 5 writes an infinity as an object. */
export function readLimits(config: ConfigReader): readonly [least: number, most: number] {
  const stated = config.values['time_step_limit'];
  if (!Array.isArray(stated)) return [0, Infinity];
  const plain = stated.map((one: unknown) => (isJsonObject(one) ? Number(one['__float__']) : one));
  const [least, most] = config.with({ time_step_limit: plain }).reals('time_step_limit', 2)!;
  if (least! <= most!) return [least!, most!];
  throw config.error('bad_checkpoint', 'time_step_limit', `is ${shown(plain)}: ${PUBLISHED}`);
}

/** Kinds of layers by the names that configurations have for them. */
const KINDS: Readonly<Record<string, 'mamba' | 'attention' | 'mlp' | 'moe'>> = {
  mamba: 'mamba',
  linear_attention: 'mamba',
  attention: 'attention',
  full_attention: 'attention',
  mlp: 'mlp',
  moe: 'moe',
};
export type LayerKind = (typeof KINDS)[string];

/** The kind of each layer, by layers_block_type or layer_types; null: neither is stated. */
export function readLayerKinds(config: ConfigReader, known: readonly LayerKind[]): LayerKind[] | null {
  const key = config.values['layers_block_type'] != null ? 'layers_block_type' : 'layer_types';
  if (config.values[key] == null) return null;
  const names = Object.keys(KINDS).filter((name) => known.includes(KINDS[name]!));
  return config.texts(key, names).map((name) => KINDS[name]!);
}

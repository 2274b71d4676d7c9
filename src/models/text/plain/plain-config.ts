// Converts config.json of the classes in plain-families.ts to the configuration of plain-layer.ts. Keys that decoders share are read in
// decoder-config.ts.

import type { Xielu } from '../../../kernels/xielu.ts';
import { isReal } from '../../config-bounds.ts';
import {
  CONFIG_JSON,
  isJsonObject,
  readConfig,
  shown,
  type ConfigReader,
  type Json,
} from '../../config-values.ts';
import { namesOfActivation } from '../blocks/activation-names.ts';
import { readHeads, scaledContext } from '../blocks/decoder-config.ts';
import { readExperts } from '../blocks/experts-config.ts';
import type { PlainConfig } from '../blocks/plain-layer.ts';
import { readRope } from '../blocks/rope-config.ts';
import { FAMILIES, type PlainFamily, type Stated } from './plain-families.ts';

/** Errors: bad_checkpoint; unsupported for settings that plain-layer.ts does not compute. */
export function readPlainConfig(json: Json, architecture: string, file = CONFIG_JSON): PlainConfig {
  const family = FAMILIES.get(architecture)!;
  const config = readConfig(file, json);
  const { activation } = family;
  config.only({
    ...family.only,
    hidden_act: activation === 'xielu' ? ['xielu'] : namesOfActivation(activation),
  });
  refuseClip(config);
  const hidden = config.count('hidden_size');
  const heads = readHeads(config, hidden, { kvHeads: null, dims: null });
  const rope = readRope(withRotation(config, family), heads.dims, {
    context: family.context,
    theta: family.theta,
    partial: family.rotated !== null,
  });
  const flag = (of: Stated): boolean => (typeof of === 'boolean' ? of : config.flag(...of));
  const parallel = flag(family.parallel);
  const { norm, normPlus, eps, headBias, queryNorm, modules, attentionNames, experts } = family;
  const layers = config.count('num_hidden_layers');
  const window =
    family.windowed && config.values['sliding_window'] != null ? config.count('sliding_window') : null;
  return {
    architecture,
    vocabulary: config.count('vocab_size'),
    hidden,
    ffn: config.count('intermediate_size'),
    heads: rope.dims < heads.dims ? { ...heads, rotated: rope.dims } : heads,
    layers: Array.from({ length: layers }, () => ({ window, rope: 0 })),
    ropes: [rope],
    norm,
    normPlus,
    eps: typeof eps === 'number' ? eps : config.real(...eps),
    context: scaledContext(rope, config.count('max_position_embeddings', family.context)),
    tied: config.flag('tie_word_embeddings', false),
    names: family.names,
    headBias: flag(headBias),
    modules: parallel ? { ...modules, mlpNorm: null } : modules,
    attentionNames,
    qkvBias: flag(family.qkvBias),
    outBias: flag(family.outBias),
    mlpBias: flag(family.mlpBias),
    queryNorm,
    activation,
    ...(activation === 'xielu' && readXielu(config)),
    parallel,
    experts: experts ? readExperts(config, experts, layers) : null,
  };
}

/** The parameters of xIELU, which GGUF files state layer by layer and checkpoints have as tensors. */
function readXielu(config: ConfigReader): { xielu: readonly Xielu[] } | null {
  const stated = config.values['xielu'];
  if (stated === undefined) return null;
  const isNumber = (value: unknown): boolean => isReal(value, [-MOST, MOST]);
  const isOne = (one: unknown): boolean =>
    isJsonObject(one) && ['positive', 'negative', 'beta', 'eps'].every((name) => isNumber(one[name]));
  if (Array.isArray(stated) && stated.every(isOne)) return { xielu: stated as Xielu[] };
  throw config.error(
    'bad_checkpoint',
    'xielu',
    `is ${shown(stated)}, numbers from -${MOST} to ${MOST} are needed`,
  );
}

/** Bound of the parameters, beyond which softplus is of no use. */
const MOST = 80;

/** The rotation of the class where the file leaves it out. */
function withRotation(config: ConfigReader, { rotated, rope, theta }: PlainFamily): ConfigReader {
  const json = config.values;
  const isStated = json['rope_parameters'] != null || json['rope_scaling'] != null;
  return config.with({
    ...(rotated !== null && { partial_rotary_factor: rotated }),
    ...json,
    ...(rope !== null &&
      !isStated && { rope_parameters: { rope_theta: json['rope_theta'] ?? theta, ...rope } }),
  });
}

function refuseClip(config: ConfigReader): void {
  const clip = config.values['clip_qkv'];
  if (clip == null) return;
  const problem = `${shown(clip)} is not computed; choose a model without it`;
  throw config.error('unsupported', 'clip_qkv', problem);
}

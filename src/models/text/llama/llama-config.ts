// Converts config.json of the classes in llama-families.ts to the configuration of llama.ts. Keys that decoders share are read in
// decoder-config.ts.

import { unsupported } from '../../../files/error.ts';
import type { HeadShape } from '../../../kernels/batch.ts';
import {
  CONFIG_JSON,
  readConfig,
  shown,
  type ConfigFile,
  type ConfigReader,
  type Json,
} from '../../config-values.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import { readHeads, readWindowed, scaledContext, withSharedKeys } from '../blocks/decoder-config.ts';
import type { DecoderLayer } from '../blocks/decoder.ts';
import { readExperts } from '../blocks/experts-config.ts';
import type { MlpConfig } from '../blocks/gated-mlp.ts';
import { FAMILIES } from './llama-families.ts';
import type { LayerModules, LlamaFamily } from './llama-family.ts';
import { graniteMultipliers, miniCpmMultipliers } from '../blocks/residual-multipliers.ts';
import { readGrowth, readRope } from '../blocks/rope-config.ts';
import type { AttentionConfig } from '../blocks/self-attention.ts';

export type LlamaConfig = DecoderModel & AttentionConfig & MlpConfig & { modules?: LayerModules };

/** Reads the configuration. Throws unsupported for an architecture that is not in FAMILIES. */
export function readLlamaConfig(json: Json, architecture: string, file = CONFIG_JSON): LlamaConfig {
  const family = FAMILIES.get(architecture);
  if (family === undefined) throw unsupported(`${architecture} is not a class that is built`);
  return readFamilyConfig(json, architecture, family, file);
}

/** Reads the configuration of a class that differs from Llama as `family` says. Errors: bad_checkpoint, unsupported. */
export function readFamilyConfig(
  stated: Json,
  architecture: string,
  family: LlamaFamily,
  statedIn: ConfigFile,
): LlamaConfig {
  const { keys = {}, heads: layout, ...named } = family.layout ?? {};
  const [shared, file] = withSharedKeys(stated, statedIn, keys);
  const json = family.adapt?.(shared) ?? shared;
  const config = readConfig(file, family.growth ? withGrowth(json) : json);
  refuseUnbuiltSettings(config, json, architecture, family);
  const hidden = config.count('hidden_size');
  const count = config.count('num_hidden_layers');
  const { partialRotation: partial, theta, ropeTypes: types } = family;
  // A norm over all heads of a row takes four columns at a time.
  const step = family.queryNorm === 'row' ? 4 : 2;
  const ownHeads = { ...readHeads(config, hidden, { ...family, step }), ...layout };
  const { heads, multipliers } = scaled(config, ownHeads, count, family);
  const rope = readRope(config, heads.dims, { context: family.context, theta, partial, types });
  if (rope.dims < heads.dims) heads.rotated = rope.dims;
  if (family.growth) Object.assign(heads, readGrowth(config, rope));
  const { qkv, out } = readBiases(config, family);
  return {
    architecture,
    vocabulary: config.count('vocab_size'),
    hidden,
    ffn: config.count('intermediate_size'),
    heads,
    layers: readLayers(config, json, family, count),
    ...multipliers,
    ropes: [rope],
    context: scaledContext(rope, config.count('max_position_embeddings', family.context)),
    tied: config.flag('tie_word_embeddings', family.tied),
    qkvBias: qkv,
    outBias: out,
    mlpBias: family.mlpBias !== null && config.flag(family.mlpBias, false),
    fusedQkv: family.fused !== false,
    fusedGateUp: family.fused === true,
    ...named,
    queryNorm: readQueryNorm(config, family),
    experts: family.experts && readExperts(config, family.experts, count),
  };
}

function readQueryNorm(config: ConfigReader, { queryNorm }: LlamaFamily): LlamaConfig['queryNorm'] {
  if (queryNorm !== 'stated') return queryNorm;
  return config.flag('use_qk_norm', false) ? 'heads' : 'none';
}

function readBiases(config: ConfigReader, { bias }: LlamaFamily): { qkv: boolean; out: boolean } {
  if (typeof bias !== 'string')
    return { qkv: config.flag(...bias.qkv), out: bias.out !== null && config.flag(...bias.out) };
  const isStated = bias === 'stated' && config.flag('attention_bias', false);
  return { qkv: bias === 'qkv' || isStated, out: isStated };
}

/** The rotation of Ministral 3 where nothing is stated. Source: transformers' Ministral3Config. */
const MINISTRAL3_ROPE = {
  rope_type: 'yarn',
  rope_theta: 1e6,
  factor: 16,
  original_max_position_embeddings: 16384,
  mscale: 1,
  mscale_all_dim: 1,
  llama_4_scaling_beta: 0.1,
};

function withGrowth(json: Json): Json {
  return json['rope_parameters'] == null && json['rope_scaling'] == null
    ? { ...json, rope_parameters: MINISTRAL3_ROPE }
    : json;
}

/** Heads with the scale of their scores, and the multipliers of the residual stream. */
function scaled(config: ConfigReader, heads: HeadShape, layers: number, { eps, multipliers }: LlamaFamily) {
  const plain = config.real('rms_norm_eps', eps);
  if (multipliers === 'none') return { heads, multipliers: { eps: plain } };
  if (multipliers === 'minicpm') return { heads, multipliers: miniCpmMultipliers(config, layers, plain) };
  return {
    heads: { ...heads, scale: config.real('attention_multiplier', 1) },
    multipliers: graniteMultipliers(config, plain),
  };
}

function readLayers(config: ConfigReader, json: Json, family: LlamaFamily, layers: number): DecoderLayer[] {
  const rotates = readRotates(config, family, layers);
  const windows = readWindows(config, json, family, rotates);
  return windows.map((window, i) => ({ window, rope: rotates[i] ? 0 : null }));
}

/** no_rope_layers has 1 for layers that rotate and 0 for the others. */
function readRotates(config: ConfigReader, { unrotated }: LlamaFamily, layers: number): boolean[] {
  if (!unrotated) return Array<boolean>(layers).fill(true);
  const every = config.count('no_rope_layer_interval', 4);
  const standard = Array.from({ length: layers }, (_, i) => Number((i + 1) % every !== 0));
  const stated = config.list('no_rope_layers', standard);
  if (stated.length === layers) return stated.map((one) => one !== 0);
  const problem = `has ${stated.length} entries, one for each of ${layers} layers is needed`;
  throw config.error('bad_checkpoint', 'no_rope_layers', problem);
}

/** Throws for settings that llama.ts does not compute. */
function refuseUnbuiltSettings(
  config: ConfigReader,
  json: Json,
  architecture: string,
  { bias, only = {} }: LlamaFamily,
): void {
  config.only(bias === 'qkv' ? { qkv_bias: [true], ...only } : only);
  const activation = json['hidden_act'] ?? 'silu';
  if (activation !== 'silu' && activation !== 'swish') {
    const problem = `${shown(activation)} is not silu, which ${architecture} is computed with; choose a model that has it`;
    throw config.error('unsupported', 'hidden_act', problem);
  }
  if (json['clip_qkv'] != null) {
    const problem = `${shown(json['clip_qkv'])} is not computed; choose a model without it`;
    throw config.error('unsupported', 'clip_qkv', problem);
  }
}

/** Number of tokens that each layer sees. Source: transformers' configuration and modeling files of each class. */
function readWindows(
  config: ConfigReader,
  json: Json,
  family: LlamaFamily,
  rotates: boolean[],
): (number | null)[] {
  const windowed = readWindowed(config, rotates.length);
  const stated = json['sliding_window'];
  // A value of a wrong type is refused even if the window is switched off.
  if (family.windows === 'none') return rotates.map(() => null);
  if (stated != null && typeof stated !== 'number') config.count('sliding_window');
  const isOn = !family.windowSwitch || config.flag('use_sliding_window', false);
  const isNone = stated === null || (stated === undefined && family.window === null);
  const size = isOn && !isNone ? config.count('sliding_window', family.window ?? undefined) : null;
  // A Mistral config with layer_types is read as Ministral's, whose layers differ.
  const typed = family.windows === 'all' ? null : windowed;
  if (typed !== null) {
    if (size === null && typed.includes(true)) {
      const why = isOn ? 'sliding_window is null' : 'use_sliding_window is not true';
      const problem = `has sliding_attention, and ${why}: take the values that the model was published with`;
      throw config.error('bad_checkpoint', 'layer_types', problem);
    }
    return typed.map((isWindowed) => (isWindowed ? size : null));
  }
  const counts = family.windows === 'some' || family.windows === 'alternate';
  const bound = counts ? config.count('max_window_layers', 28) : 0;
  const isWindowed = {
    all: () => true,
    typed: () => true,
    some: (i: number) => i >= bound,
    alternate: (i: number) => i < bound && i % 2 === 0,
    unrotated: (i: number) => !rotates[i],
  }[family.windows];
  return rotates.map((_, i) => (isWindowed(i) ? size : null));
}

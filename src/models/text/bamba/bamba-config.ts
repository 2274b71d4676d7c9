// Converts config.json of Bamba and of Granite 4's hybrids to the configuration of bamba.ts. Keys that decoders share are read in
// decoder-config.ts.

import { CONFIG_JSON, readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import { readHeads } from '../blocks/decoder-config.ts';
import { readExperts, type ExpertsFamily } from '../blocks/experts-config.ts';
import type { MlpConfig } from '../blocks/gated-mlp.ts';
import { mambaColumns, mambaState, type Mamba2Config } from '../blocks/mamba2.ts';
import { readLayerKinds, readMamba } from '../blocks/mamba2-config.ts';
import { readRope } from '../blocks/rope-config.ts';
import type { AttentionConfig } from '../blocks/self-attention.ts';

export type BambaConfig = DecoderModel &
  AttentionConfig &
  MlpConfig &
  Mamba2Config & {
    /** Names of the modules behind the first block of a layer. */
    modules: { norm: string; mlp: string };
  };

interface Family {
  /** model_type of config.json. */
  modelType: string;
  examples: string;
  /** Values of transformers' configuration class for keys that are left out. */
  defaults: Json;
  modules: BambaConfig['modules'];
  finalNorm: string;
  mlpNames: NonNullable<MlpConfig['mlpNames']>;
  /** Granite: residual_multiplier and the like are read, and position_embedding_type, and a layer may have experts beside its block for all tokens. */
  granite: boolean;
}

const EXPERTS: ExpertsFamily = {
  block: 'block_sparse_moe',
  router: 'router.layer',
  projections: { gate: 'gate_proj', up: 'up_proj', down: 'down_proj', gateUp: 'gate_up_proj' },
  gateUpOrder: 'halves',
  ffn: 'intermediate_size',
  normed: true,
  denseLayers: false,
  shared: false,
};

export const BAMBAS: Readonly<Record<string, Family>> = {
  BambaForCausalLM: {
    modelType: 'bamba',
    examples: 'Bamba 9B',
    defaults: {
      vocab_size: 128000,
      num_key_value_heads: 8,
      rms_norm_eps: 1e-5,
      max_position_embeddings: 262144,
    },
    modules: { norm: 'pre_ff_layernorm', mlp: 'feed_forward' },
    finalNorm: 'final_layernorm',
    mlpNames: { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' },
    granite: false,
  },
  GraniteMoeHybridForCausalLM: {
    modelType: 'granitemoehybrid',
    examples: 'Granite 4 h-micro, h-tiny and h-small',
    defaults: { vocab_size: 32000, rms_norm_eps: 1e-6, max_position_embeddings: 2048 },
    modules: { norm: 'post_attention_layernorm', mlp: 'shared_mlp' },
    finalNorm: 'norm',
    mlpNames: { gate: 'gate_proj', up: 'up_proj', down: 'output_linear', gateUp: 'input_linear' },
    granite: true,
  },
};

/** Errors: bad_checkpoint; unsupported for settings that bamba.ts does not compute. */
export function readBambaConfig(json: Json, architecture: string, file = CONFIG_JSON): BambaConfig {
  const family = BAMBAS[architecture]!;
  const stated = Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
  const config = readConfig(file, { ...family.defaults, ...stated });
  config.only({ hidden_act: ['silu'] });
  const hidden = config.count('hidden_size', 4096);
  const layers = config.count('num_hidden_layers', 32);
  const heads = readHeads(config, hidden, { heads: 32, kvHeads: null, dims: null });
  const context = config.count('max_position_embeddings');
  const rope = readPositions(config, family, heads.dims, context);
  if (rope && rope.dims < heads.dims) heads.rotated = rope.dims;
  const mamba = readMamba(config, hidden);
  const slot = mambaState(mamba);
  const bias = config.flag('attention_bias', false);
  const hasExperts = family.granite && config.values['num_local_experts'] !== 0;
  return {
    architecture,
    vocabulary: config.count('vocab_size'),
    hidden,
    ffn: family.granite
      ? config.count('shared_intermediate_size', 1024)
      : config.count('intermediate_size', 14336),
    heads,
    widest: mambaColumns(mamba),
    mamba,
    layers: readMambas(config, family, layers).map((isMamba) =>
      isMamba ? { window: null, rope: null, slot } : { window: null, rope: rope && 0 },
    ),
    ropes: rope ? [rope] : [],
    names: { finalNorm: family.finalNorm },
    eps: config.real('rms_norm_eps'),
    ...(family.granite && multipliers(config, heads)),
    context,
    tied: config.flag('tie_word_embeddings', false),
    qkvBias: bias,
    outBias: bias,
    mlpBias: !family.granite && config.flag('mlp_bias', false),
    mlpNames: family.mlpNames,
    modules: family.modules,
    experts: hasExperts
      ? readExperts(config.with({ ...EXPERT_DEFAULTS, ...config.values }), EXPERTS, layers)
      : null,
  };
}

const EXPERT_DEFAULTS = { num_local_experts: 8, num_experts_per_tok: 2, intermediate_size: 11008 };

/** The rotation, half of a head's dimensions for Bamba whatever is stated; null: heads are not rotated. */
function readPositions(config: ConfigReader, { granite }: Family, dims: number, context: number) {
  if (!granite)
    return readRope(config.with({ ...config.values, partial_rotary_factor: 0.5 }), dims, {
      context,
      partial: true,
    });
  const rotates = config.choice('position_embedding_type', { rope: true, nope: false }, 'nope');
  return rotates ? readRope(config, dims, { context }) : null;
}

/** Whether each layer has the Mamba-2 block, by layer_types or, for Bamba, attn_layer_indices. */
function readMambas(config: ConfigReader, { granite }: Family, layers: number): boolean[] {
  const kinds = readLayerKinds(config, ['mamba', 'attention']);
  const attention = granite ? [] : config.list('attn_layer_indices', []);
  if (kinds === null || !granite) return Array.from({ length: layers }, (_, i) => !attention.includes(i));
  if (kinds.length === layers) return kinds.map((kind) => kind === 'mamba');
  const problem = `has ${kinds.length} of ${layers} layers: take the values that the model was published with`;
  throw config.error('bad_checkpoint', 'layer_types', problem);
}

/** As Granite's in llama-config.ts: divided by residual_multiplier, the residual stream adds blocks as they are. */
function multipliers(config: ConfigReader, heads: BambaConfig['heads']): Partial<BambaConfig> {
  const residual = config.real('residual_multiplier', 1);
  return {
    heads: { ...heads, scale: config.real('attention_multiplier', 1) },
    eps: config.real('rms_norm_eps') / residual ** 2,
    scalesResidual: true,
    embeddingScale: config.real('embedding_multiplier', 1) / residual,
    logitScale: 1 / config.real('logits_scaling', 1),
  };
}

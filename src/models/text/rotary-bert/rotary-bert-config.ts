// Converts config.json of NomicBERT, GTE and Jina Embeddings v3 to the configuration of rotary-bert.ts: as they are published, with Python code of
// their own, and as transformers has them.

import {
  CONFIG_JSON,
  checkHeads,
  readConfig,
  type ConfigFile,
  type ConfigReader,
  type Json,
} from '../../config-values.ts';
import { withSharedKeys } from '../blocks/decoder-config.ts';
import { readExperts, type ExpertsConfig, type ExpertsFamily } from '../blocks/experts-config.ts';
import { headOf, readOutputs } from '../blocks/outputs.ts';
import { readRope } from '../blocks/rope-config.ts';

/** By what the families differ. */
interface RotaryFamily {
  modelType: string;
  /** Beginning of the classes' names. */
  className: string;
  examples: string;
  kind: 'nomic' | 'gte' | 'jina';
  /** Ends of the names of the classes. */
  ends: readonly string[];
}

const LABELS = ['ForSequenceClassification', 'ForTokenClassification'] as const;

export const ROTARY_FAMILIES: readonly RotaryFamily[] = [
  {
    modelType: 'nomic_bert',
    className: 'NomicBert',
    examples: 'nomic-embed-text v1, v1.5 and v2 MoE, CodeRankEmbed, Snowflake Arctic Embed M long',
    kind: 'nomic',
    ends: ['Model'],
  },
  {
    modelType: 'new',
    className: 'New',
    examples: 'gte-base and -large v1.5, gte-multilingual, with its reranker',
    kind: 'gte',
    ends: ['Model', ...LABELS],
  },
  {
    modelType: 'gte',
    className: 'Gte',
    examples: 'Snowflake Arctic Embed M 2.0',
    kind: 'gte',
    ends: ['Model', ...LABELS],
  },
  {
    modelType: 'jina_embeddings_v3',
    className: 'JinaEmbeddingsV3',
    examples: 'jina-embeddings-v3-hf',
    kind: 'jina',
    ends: ['Model', ...LABELS, 'ForQuestionAnswering'],
  },
];

/** Names of settings in NomicBERT's own files. */
const NOMIC_KEYS = {
  hidden_size: 'n_embd',
  num_attention_heads: 'n_head',
  num_hidden_layers: 'n_layer',
  intermediate_size: 'n_inner',
  layer_norm_eps: 'layer_norm_epsilon',
  max_position_embeddings: 'n_positions',
  rope_theta: 'rotary_emb_base',
  hidden_act: 'activation_function',
  num_experts_per_tok: 'moe_top_k',
  decoder_sparse_step: 'moe_every_n_layers',
} as const;

/** Function of the feed-forward block, and whether it is that of a gate. */
const UNITS = {
  nomic: {
    silu: { activation: 'silu', gated: true },
    swiglu: { activation: 'silu', gated: true },
    geglu: { activation: 'gelu', gated: true },
    gelu: { activation: 'gelu', gated: false },
  },
  gte: { gelu: { activation: 'gelu', gated: true } },
  jina: { gelu: { activation: 'gelu', gated: false } },
} as const;

const DEFAULTS = {
  nomic: {
    hidden: 768,
    layers: 12,
    heads: 12,
    eps: 1e-12,
    context: 2048,
    theta: 1000,
    types: 2,
    act: 'silu',
  },
  gte: {
    hidden: 768,
    layers: 12,
    heads: 12,
    eps: 1e-12,
    context: 8192,
    theta: 160_000,
    types: 1,
    act: 'gelu',
  },
  jina: {
    hidden: 1024,
    layers: 24,
    heads: 16,
    eps: 1e-5,
    context: 8194,
    theta: 20_000,
    types: 1,
    act: 'gelu',
  },
} as const;

/** The mixture of NomicBERT, whose experts share a bias behind their sum. */
const NOMIC_EXPERTS: ExpertsFamily = {
  block: 'mlp',
  router: 'router.layer',
  projections: { up: 'w1', down: 'w2' },
  sumBias: 'experts.bias',
  ffn: 'intermediate_size',
  normed: 'stated',
  denseLayers: 'first',
  shared: false,
};

export type RotaryBertConfig = ReturnType<typeof readRotaryBertConfig>;

export function readRotaryBertConfig(json: Json, architecture: string, given: ConfigFile = CONFIG_JSON) {
  const { kind } = familyOf(architecture);
  const [values, file] = kind === 'nomic' ? withSharedKeys(json, given, NOMIC_KEYS) : [json, given];
  const config = readConfig(file, values);
  checkBuilt(config, kind);
  const usual = DEFAULTS[kind];
  const hidden = config.count('hidden_size', usual.hidden);
  const heads = checkHeads(given.name, hidden, config.count('num_attention_heads', usual.heads));
  const dims = hidden / heads;
  config.only({ head_dim: [dims] });
  const head = headOf(architecture);
  // A pair's texts would have types of their own, which heads of these classes were not given.
  if (head) config.only({ type_vocab_size: [1, 0] });
  const context = contextOf(config, usual.context);
  const layers = config.count('num_hidden_layers', usual.layers);
  const unit = config.choice<Unit>('hidden_act', UNITS[kind], usual.act);
  return {
    architecture,
    kind,
    vocabulary: config.count('vocab_size'),
    types: config.count('type_vocab_size', usual.types),
    hidden,
    heads,
    layers,
    ffn: config.count('intermediate_size', 4 * hidden),
    eps: config.real('layer_norm_eps', usual.eps),
    ...unit,
    ...biasesOf(config, kind),
    experts: expertsOf(config, unit, layers),
    rope: readRope(ropeValues(config, dims), dims, { context, theta: usual.theta }),
    context,
    outputs: head && readOutputs(config, head, 'cls'),
  };
}

/** NomicBERT without scaling is for the positions that it was trained for. */
function contextOf(config: ConfigReader, usual: number): number {
  const stated = config.count('max_position_embeddings', usual);
  const isScaled = typeof config.values['rotary_scaling_factor'] === 'number';
  return isScaled ? stated : Math.min(stated, config.count('max_trained_positions', stated));
}

interface Unit {
  activation: 'gelu' | 'silu';
  gated: boolean;
}

function familyOf(architecture: string): RotaryFamily {
  return ROTARY_FAMILIES.find(({ className, ends }) =>
    ends.some((end) => architecture === `${className}${end}`),
  )!;
}

/** Throws unsupported for what no published embedding model of these families has. */
function checkBuilt(config: ConfigReader, kind: RotaryFamily['kind']): void {
  config.only({
    prenorm: [false],
    parallel_block: [false],
    causal: [false],
    use_rms_norm: [false],
    rotary_emb_fraction: [1],
    rotary_emb_interleaved: [false],
    scale_attn_weights: [true],
    scale_attn_by_inverse_layer_idx: [false],
    ...(kind === 'nomic'
      ? {
          num_shared_experts: [0],
          expert_choice_router: [false],
          moe_normalize_expert_weights: [false],
          ffn_div: [1],
        }
      : { num_experts: [0] }),
    // Those of GTE with learned positions do not rotate heads.
    position_embedding_type: kind === 'gte' ? ['rope'] : ['rope', 'absolute'],
    layer_norm_type: ['layer_norm'],
    logn_attention_scale: [false],
    pack_qkv: [true],
  });
}

/** The second of every so many layers has experts in place of its block; null: none has. */
function expertsOf(config: ConfigReader, unit: Unit, layers: number): ExpertsConfig | null {
  if ((config.values['num_experts'] ?? 0) === 0) return null;
  if (unit.gated) config.only({ hidden_act: ['gelu'] });
  const every = config.count('decoder_sparse_step');
  const types = Array.from({ length: layers }, (_, i) => (i % every === 1 ? 'sparse' : 'dense'));
  const stated = config.with({ ...config.values, mlp_layer_types: types });
  return { ...readExperts(stated, NOMIC_EXPERTS, layers), ungated: unit.activation };
}

/** NomicBERT's own files state biases; the others have them. */
function biasesOf(config: ConfigReader, kind: RotaryFamily['kind']) {
  if (kind !== 'nomic') return { attentionBias: true, upBias: kind === 'jina', downBias: true };
  return {
    attentionBias: config.flag('qkv_proj_bias', false),
    upBias: config.flag('mlp_fc1_bias', false),
    downBias: config.flag('mlp_fc2_bias', false),
  };
}

/** The settings of the rotation in the form of transformers. */
function ropeValues(config: ConfigReader, dims: number): ConfigReader {
  const {
    rope_scaling: scaling,
    rotary_scaling_factor: factor,
    rope_theta: theta,
    ...values
  } = config.values;
  // NomicBERT: the type dynamic, beyond the positions that it was trained for.
  if (typeof factor === 'number')
    return config.with({
      ...values,
      ...(theta !== undefined && { rope_theta: theta }),
      max_position_embeddings: values['max_trained_positions'] ?? 2048,
      rope_scaling: { type: 'dynamic', factor },
    });
  const own = (scaling ?? {}) as Json;
  if (own['type'] !== 'ntk') return config;
  // GTE: for any length the base grows by the factor, and frequencies are divided by its share of a pair of dimensions.
  const grown = config.within('rope_scaling', own).real('factor');
  config.within('rope_scaling', own).only({ mixed_b: [undefined] });
  return config.with({
    ...values,
    rope_theta: config.real('rope_theta', 10_000) * grown,
    rope_scaling: { type: 'linear', factor: grown ** (2 / dims) },
  });
}

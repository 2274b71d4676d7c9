// Converts config.json of NomicBERT, GTE, Jina Embeddings v3 and Jina's XLM-RoBERTa to the configuration of rotary-bert.ts: as they are published, with Python code of
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
import { DEFAULTS, ROTARY_FAMILIES, UNITS, type RotaryFamily } from './rotary-bert-families.ts';
import { readTasks } from './task-config.ts';

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

/** Names of settings in files of their own. */
const OWN_KEYS = { nomic: NOMIC_KEYS, gte: {}, jina: {}, flash: { rope_theta: 'rotary_emb_base' } } as const;

/** Kinds of positions. Those of GTE with learned ones do not rotate heads. */
const POSITIONS = {
  nomic: ['rope', 'absolute'],
  gte: ['rope'],
  jina: ['rope', 'absolute'],
  flash: ['rotary', 'absolute'],
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
  const [values, file] = withSharedKeys(json, given, OWN_KEYS[kind]);
  const config = readConfig(file, values);
  const usual = DEFAULTS[kind];
  const hidden = config.count('hidden_size', usual.hidden);
  const heads = checkHeads(given.name, hidden, config.count('num_attention_heads', usual.heads));
  const dims = hidden / heads;
  config.only({ head_dim: [dims] });
  checkBuilt(config, kind, dims);
  const head = headOf(architecture);
  const learned = kind === 'flash' ? learnedPositions(config) : null;
  const context = learned ? learned.count - learned.first : contextOf(config, usual.context);
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
    /** null: positions are learned. */
    rope: learned ? null : readRope(ropeValues(config, dims), dims, { context, theta: usual.theta }),
    learned,
    tasks: kind === 'flash' ? readTasks(config) : null,
    context,
    outputs: head && readOutputs(config, head, 'cls'),
  };
}

/** Rows of the table of positions, and that of a text's first token; null: heads are rotated. */
function learnedPositions(config: ConfigReader): { count: number; first: number } | null {
  const { position_embedding_type: stated, rope_theta: theta } = config.values;
  if ((stated ?? (theta === undefined ? 'absolute' : 'rotary')) === 'rotary') return null;
  const count = config.count('max_position_embeddings', 514);
  const first = config.count('pad_token_id', 1) + 1;
  if (count > first) return { count, first };
  throw config.error(
    'bad_checkpoint',
    'max_position_embeddings',
    `is ${count}, and the positions up to pad_token_id ${first - 1} are for padding: take the values that the model was published with`,
  );
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
function checkBuilt(config: ConfigReader, kind: RotaryFamily['kind'], dims: number): void {
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
    position_embedding_type: POSITIONS[kind],
    fused_mlp: [false],
    last_layer_subset: [false],
    pad_vocab_size_multiple: [1],
    rotary_emb_dim: [dims],
    rotary_emb_scale_base: [null],
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
  if (kind !== 'nomic') return { attentionBias: true, upBias: kind !== 'gte', downBias: true };
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

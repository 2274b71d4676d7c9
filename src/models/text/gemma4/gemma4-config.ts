// Converts config.json of Gemma 4 to the configuration of gemma4.ts. Keys that decoders share are read in decoder-config.ts.

import type { HeadShape } from '../../../kernels/batch.ts';
import { CONFIG_JSON, readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import { readHeads, readWindowed } from '../blocks/decoder-config.ts';
import { readExperts, type ExpertsConfig, type ExpertsFamily } from '../blocks/experts-config.ts';
import type { Gemma4Config } from './gemma4.ts';
import { readRope } from '../blocks/rope-config.ts';
import type { RopeConfig } from '../blocks/rope.ts';

/** What transformers' Gemma4UnifiedTextConfig states otherwise. */
const UNIFIED: Json = {
  hidden_size_per_layer_input: 0,
  sliding_window: 1024,
  max_position_embeddings: 262144,
};

export const GEMMA4_EXPERTS: ExpertsFamily = {
  block: '',
  router: 'router.proj',
  gains: 'router.per_expert_scale',
  projections: { gate: 'gate_proj', up: 'up_proj', down: 'down_proj', gateUp: 'gate_up_proj' },
  gateUpOrder: 'halves',
  ffn: 'moe_intermediate_size',
  normed: true,
  denseLayers: false,
  shared: false,
};

/** One layer in every `PATTERN` sees all tokens if layer_types is missing. */
const PATTERN = 6;
/** Rotations where none are stated. Source: transformers' Gemma4TextConfig. */
const ROPES: Json = {
  full_attention: { rope_type: 'proportional', partial_rotary_factor: 0.25, rope_theta: 1e6 },
  sliding_attention: { rope_type: 'default', rope_theta: 10000 },
};

/** Errors: bad_checkpoint; unsupported for settings that gemma4.ts does not compute. */
export function readGemma4Config(json: Json, architecture: string, file = CONFIG_JSON): Gemma4Config {
  const isUnified = architecture.startsWith('Gemma4Unified');
  const config = readConfig(file, isUnified ? { ...UNIFIED, ...json } : json);
  refuseOtherSums(config);
  const hidden = config.count('hidden_size', 2304);
  const isOne = config.flag('attention_k_eq_v', false);
  const [heads, fullHeads] = readBothHeads(config, hidden, isOne);
  const full = readFull(config);
  const shares = readShares(config, full);
  const entering = readEntering(config);
  const ffn = config.count('intermediate_size', 9216);
  const sharedFfn = config.flag('use_double_wide_mlp', false) ? 2 * ffn : ffn;
  const window = config.count('sliding_window', 512);
  const context = config.count('max_position_embeddings', 131072);
  const bias = config.flag('attention_bias', false);
  return {
    architecture,
    vocabulary: config.count('vocab_size', 262144),
    hidden,
    ffn,
    sharedFfn,
    entering,
    widest: Math.max(sharedFfn, (entering?.columns ?? 0) * full.length),
    heads,
    layers: full.map((isFull, i) => {
      const own = isFull ? fullHeads : heads;
      const layer = { window: isFull ? null : window, rope: isFull ? 0 : 1 };
      const from = shares[i];
      return from === undefined
        ? { ...layer, heads: own }
        : { ...layer, heads: { ...own, kv: 'none' as const }, shares: from };
    }),
    eps: config.real('rms_norm_eps', 1e-6),
    ropes: [
      readTable(config, 'full_attention', fullHeads.dims, context),
      readTable(config, 'sliding_attention', heads.dims, context),
    ],
    context,
    tied: config.flag('tie_word_embeddings', true),
    qkvBias: bias,
    outBias: bias,
    queryNorm: 'heads',
    valueNorm: true,
    spansEverywhere: isUnified,
    embeddingScale: Math.sqrt(hidden),
    logitCap: json['final_logit_softcapping'] == null ? null : config.real('final_logit_softcapping'),
    experts: config.flag('enable_moe_block', false) ? readMixture(config, hidden, full.length) : null,
  };
}

/** Experts beside the feed-forward block of every layer. */
function readMixture(config: ConfigReader, hidden: number, layers: number): ExpertsConfig {
  const counts = {
    num_experts: config.count('num_experts'),
    num_experts_per_tok: config.count('top_k_experts'),
  };
  return {
    ...readExperts(config.with({ ...config.values, ...counts }), GEMMA4_EXPERTS, layers),
    activation: 'gelu-tanh',
    logitScale: hidden ** -0.5,
  };
}

function refuseOtherSums(config: ConfigReader): void {
  config.only({
    hidden_activation: ['gelu_pytorch_tanh'],
    // Rows of an image may see each other; those of a text do not.
    use_bidirectional_attention: ['vision', false],
  });
}

/** Embeddings that enter every layer; transformers takes 256 columns for a missing key. */
function readEntering(config: ConfigReader): Gemma4Config['entering'] {
  const columns = config.count('hidden_size_per_layer_input', 256);
  if (columns === 0) return null;
  if (columns % 4 !== 0)
    throw config.error(
      'unsupported',
      'hidden_size_per_layer_input',
      `${columns} is not built; choose a model that has a multiple of 4`,
    );
  return {
    vocabulary: config.count('vocab_size_per_layer_input', 262144),
    columns,
    padding: config.count('pad_token_id', 0),
  };
}

/** The layer whose keys and values each layer reads: from the first shared one on the last of its kind before; undefined: its own. */
export function readShares(
  config: ConfigReader,
  full: readonly boolean[],
  shared = 0,
): (number | undefined)[] {
  const first = full.length - config.count('num_kv_shared_layers', shared);
  const own = full.slice(0, Math.max(first, 0));
  return full.map((isFull, i) => {
    if (i < first) return undefined;
    const found = own.lastIndexOf(isFull);
    if (found >= 0) return found;
    throw config.error(
      'bad_checkpoint',
      'num_kv_shared_layers',
      `leaves no layer of the kind of layer ${i} that has keys: take the values that the model was published with`,
    );
  });
}

/** Heads of the windowed and of the full layers. `isOne`: keys of full layers are their values, too. */
function readBothHeads(config: ConfigReader, hidden: number, isOne: boolean): [HeadShape, HeadShape] {
  const { values } = config;
  const defaults = { heads: 8, kvHeads: 4, dims: 256 };
  const kvHeads = isOne ? (values['num_global_key_value_heads'] ?? null) : null;
  const stated: Json = {
    head_dim: values['global_head_dim'] ?? 512,
    ...(kvHeads !== null && { num_key_value_heads: kvHeads }),
  };
  const full = readHeads(config.with({ ...values, ...(ownKeys(config) ?? stated) }), hidden, defaults);
  // Norms of queries and keys set the scale of the scores.
  return [
    { ...readHeads(config, hidden, defaults), scale: 1 },
    { ...full, scale: 1, ...(isOne && { kv: 'one' }) },
  ];
}

/** The keys that transformers 5 states for the full layers one by one; null: there are none. */
function ownKeys(config: ConfigReader): Json | null {
  const each = config.values['per_layer_config'] ?? null;
  if (each === null) return null;
  const full = readFull(config).flatMap((isFull, i) => (isFull ? [(each as Json)[i] ?? {}] : []));
  const others = Object.keys(each).length - full.length;
  if (others === 0 && full.every((one) => JSON.stringify(one) === JSON.stringify(full[0])))
    return full[0] as Json;
  throw config.error(
    'unsupported',
    'per_layer_config',
    'has layers with values of their own; choose a model whose full layers are alike, and whose windowed layers are',
  );
}

/** Whether each layer sees all tokens; the last one always does. */
function readFull(config: ConfigReader): boolean[] {
  const layers = config.count('num_hidden_layers', 30);
  const windowed = readWindowed(config, layers);
  return Array.from(
    { length: layers },
    (_, i) => i === layers - 1 || (windowed === null ? (i + 1) % PATTERN === 0 : !windowed[i]),
  );
}

function readTable(config: ConfigReader, type: string, dims: number, context: number): RopeConfig {
  const { rope_parameters: stated, rope_scaling: _none, ...plain } = config.values;
  const own = { ...plain, rope_parameters: ((stated ?? ROPES) as Json)[type] ?? ROPES[type] };
  return readRope(config.with(own), dims, { context, types: ['default', 'linear', 'proportional'] });
}

// Converts config.json of Llama 4 to the configuration of llama4.ts. Values left out are those of transformers' configuration class.

import { CONFIG_JSON, readConfig, shown, type ConfigReader, type Json } from '../../config-values.ts';
import type { DecoderLayer } from '../blocks/decoder.ts';
import { readFamilyConfig, type LlamaConfig } from '../llama/llama-config.ts';
import { LLAMA, type LlamaFamily } from '../llama/llama-family.ts';

export const LLAMA4: LlamaFamily = {
  ...LLAMA,
  modelType: 'llama4_text',
  examples: 'Llama 4 Scout and Maverick',
  kvHeads: 8,
  dims: 128,
  eps: 1e-5,
  context: 131072,
  theta: 500000,
  mlpBias: null,
  unrotated: true,
  layout: { heads: { pairs: 'adjacent' } },
  only: { num_experts_per_tok: [1] },
  experts: {
    block: 'feed_forward',
    router: 'router',
    projections: { gate: 'gate_proj', up: 'up_proj', down: 'down_proj', gateUp: 'gate_up_proj' },
    gateUpOrder: 'halves',
    ffn: 'intermediate_size',
    normed: 'stated',
    scores: 'sigmoid',
    gatesInput: true,
    denseLayers: 'first',
    shared: 'plain',
    sharedMlp: { module: 'shared_expert' },
  },
};

const DEFAULTS = {
  intermediate_size: 8192,
  num_experts_per_tok: 1,
  num_local_experts: 16,
  n_shared_experts: 1,
};

/** Errors: bad_checkpoint; unsupported for settings that llama4.ts does not compute. */
export function readLlama4Config(stated: Json, architecture: string, file = CONFIG_JSON): LlamaConfig {
  const { layer_types: types = null, no_rope_layers: rotated, ...own } = stated;
  const hasList = Array.isArray(rotated) && rotated.length > 0;
  const json = { ...DEFAULTS, ...own, ...(hasList && { no_rope_layers: rotated }) };
  const config = readConfig(file, json);
  const sparse = readSparse(config, config.count('num_hidden_layers'));
  const base = readFamilyConfig({ ...json, mlp_layer_types: sparse }, architecture, LLAMA4, file);
  const chunk =
    config.values['attention_chunk_size'] === null ? null : config.count('attention_chunk_size', 8192);
  const grown = readTuning(config, base);
  const layers = base.layers.map(({ rope }): DecoderLayer =>
    rope === null ? { window: null, rope, heads: grown } : { window: chunk, rope },
  );
  checkTypes(config, types, layers);
  return {
    ...base,
    ffn: sparse.includes('dense') ? config.count('intermediate_size_mlp', 16384) : base.ffn,
    layers,
    queryNorm: config.flag('use_qk_norm', true) ? 'plain' : 'none',
  };
}

/** Layers of experts by moe_layers or, where there is no such list, by their distance. */
function readSparse(config: ConfigReader, layers: number): ('sparse' | 'dense')[] {
  const step = config.count('interleave_moe_layer_step', 1);
  const standard = Array.from({ length: layers }, (_, i) => i).filter((i) => (i + 1) % step === 0);
  const listed = config.list('moe_layers', standard.length > 0 ? standard : [layers]);
  return Array.from({ length: layers }, (_, i) => (listed.includes(i) ? 'sparse' : 'dense'));
}

/** Heads of layers without positions. The first checkpoints state a number for attn_temperature_tuning. */
function readTuning(config: ConfigReader, { heads }: LlamaConfig): LlamaConfig['heads'] {
  const tuning = config.values['attn_temperature_tuning'];
  const isOn = typeof tuning === 'number' ? tuning !== 0 : config.flag('attn_temperature_tuning', true);
  if (!isOn) return heads;
  const [beta, length] = [config.real('attn_scale', 0.1), config.count('floor_scale', 8192)];
  return { ...heads, growth: { beta, length, first: 1 } };
}

/** layer_types repeats what no_rope_layers says. */
function checkTypes(config: ConfigReader, types: unknown, layers: readonly DecoderLayer[]): void {
  const wanted = layers.map(({ rope }) => (rope === null ? 'full_attention' : 'chunked_attention'));
  if (types === null || (Array.isArray(types) && types.join() === wanted.join())) return;
  throw config.error(
    'unsupported',
    'layer_types',
    `${shown(types)} is not built; choose a checkpoint whose chunked layers are those with positions`,
  );
}

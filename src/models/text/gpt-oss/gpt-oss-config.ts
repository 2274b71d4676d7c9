// Converts config.json of gpt-oss to the configuration of gpt-oss.ts. Keys that decoders share are read in decoder-config.ts.

import { CONFIG_JSON, readConfig, type Json } from '../../config-values.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import { readHeads, readLayers, scaledContext } from '../blocks/decoder-config.ts';
import { readExperts, type ExpertsConfig, type ExpertsFamily } from '../blocks/experts-config.ts';
import { readRope } from '../blocks/rope-config.ts';
import type { AttentionConfig } from '../blocks/self-attention.ts';

export type GptOssConfig = DecoderModel & AttentionConfig & { experts: ExpertsConfig };

export const GPT_OSS_EXPERTS: ExpertsFamily = {
  block: 'mlp',
  router: 'router',
  projections: { gate: 'gate_proj', up: 'up_proj', down: 'down_proj', gateUp: 'gate_up_proj' },
  bias: true,
  ffn: 'intermediate_size',
  normed: true,
  denseLayers: false,
  shared: false,
};

/** Rotation of a config.json that states none. */
const YARN: Json = { rope_type: 'yarn', factor: 32, original_max_position_embeddings: 4096, truncate: false };

/** Errors: bad_checkpoint; unsupported for settings that gpt-oss.ts does not compute. */
export function readGptOssConfig(json: Json, architecture: string, file = CONFIG_JSON): GptOssConfig {
  const config = readConfig(file, json);
  config.only({ hidden_act: ['silu'] });
  const hidden = config.count('hidden_size', 2880);
  const heads = readHeads(config, hidden, { heads: 64, kvHeads: 8, dims: 64 });
  const layers = config.count('num_hidden_layers', 36);
  const stated = config.count('max_position_embeddings', 131072);
  const isRotationStated = (json['rope_parameters'] ?? json['rope_scaling']) != null;
  const rope = readRope(
    isRotationStated ? config : config.with({ ...json, rope_parameters: YARN }),
    heads.dims,
    {
      context: stated,
      theta: 150000,
    },
  );
  const ffn = config.count('intermediate_size', 2880);
  const bias = config.flag('attention_bias', true);
  const counts = {
    intermediate_size: ffn,
    num_local_experts: config.count('num_local_experts', config.count('num_experts', 128)),
    num_experts_per_tok: config.count('num_experts_per_tok', 4),
  };
  return {
    architecture,
    vocabulary: config.count('vocab_size', 201088),
    hidden,
    ffn,
    heads,
    layers: readLayers(config, layers, {
      pattern: 2,
      window: config.count('sliding_window', Object.hasOwn(json, 'sliding_window') ? undefined : 128),
      localRope: false,
    }),
    ropes: [rope],
    eps: config.real('rms_norm_eps', 1e-5),
    context: scaledContext(rope, stated),
    tied: config.flag('tie_word_embeddings', false),
    qkvBias: bias,
    outBias: bias,
    sinks: true,
    experts: {
      ...readExperts(config.with({ ...json, ...counts }), GPT_OSS_EXPERTS, layers),
      clamped: { alpha: config.real('swiglu_alpha', 1.702), limit: config.real('swiglu_limit', 7) },
    },
  };
}

// The families of mixtures whose layers are those of llama.ts, and their dense relatives. They differ in names of keys and tensors, in what their
// routers compute, and in the experts that take all tokens. Values left out of a config.json are those of transformers' configuration
// classes.

import type { Json } from '../../config-values.ts';
import { LLAMA, type Family } from '../llama/llama-families.ts';

const ERNIE: Family = {
  ...LLAMA,
  modelType: 'ernie4_5',
  examples: 'ERNIE 4.5 0.3B',
  kvHeads: 2,
  dims: 128,
  eps: 1e-5,
  context: 131072,
  theta: 500000,
  tied: true,
  pairs: 'adjacent',
  keys: { attention_bias: 'use_bias', mlp_bias: 'use_bias' },
};

const HUNYUAN: Family = {
  ...LLAMA,
  modelType: 'hunyuan_v1_dense',
  examples: 'Hunyuan 0.5B to 7B, Hunyuan-MT',
  eps: 1e-5,
  mlpBias: false,
  queryNorm: 'heads',
  normTurned: true,
  attentionNames: { qNorm: 'query_layernorm', kNorm: 'key_layernorm' },
  ropeTypes: ['default', 'linear', 'dynamic', 'ntk'],
  only: { use_qk_norm: [true], use_cla: [false] },
  keys: { 'rope_scaling.factor': 'alpha' },
  adapt: (json) => withStretchedBase({ ...json, head_dim: json['head_dim'] ?? json['attention_head_dim'] }),
};

/** A rotation called dynamic that states an alpha has the base of one length for all lengths. Source: transformers' hunyuan_v1_dense. */
function withStretchedBase(json: Json): Json {
  const name = json['rope_scaling'] == null ? 'rope_parameters' : 'rope_scaling';
  const stated = json[name];
  if (typeof stated !== 'object' || stated === null) return json;
  const { type, rope_type: kind = type, alpha, rope_theta: theta } = stated as Json;
  if (kind !== 'dynamic' || alpha == null) return json;
  return {
    ...json,
    ...(theta !== undefined && { rope_theta: theta }),
    rope_parameters: null,
    rope_scaling: { rope_type: 'ntk', factor: alpha },
  };
}

export const MIXTURES: ReadonlyMap<string, Family> = new Map([
  ['Ernie4_5ForCausalLM', ERNIE],
  ['HunYuanDenseV1ForCausalLM', HUNYUAN],
]);

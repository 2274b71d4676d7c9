// GGUF files of Gemma 3n.

import type { GgufClass, GgufModel } from '../../../files/gguf/model.ts';
import { decoderConfig, layerTypes, rowsOf } from '../blocks/gguf-config.ts';
import { decoderParts } from '../blocks/gguf-tensors.ts';
import { normalCdf } from './normal-shares.ts';

const NAMES = {
  post_attention_norm: 'post_attention_layernorm',
  ffn_norm: 'pre_feedforward_layernorm',
  post_ffw_norm: 'post_feedforward_layernorm',
  inp_gate: 'per_layer_input_gate',
  proj: 'per_layer_projection',
  post_norm: 'post_per_layer_input_norm',
  laurel_l: 'laurel.linear_left',
  laurel_r: 'laurel.linear_right',
  laurel_post_norm: 'laurel.post_laurel_norm',
  altup_router: 'altup.modality_router',
  altup_router_norm: 'altup.router_norm',
  altup_predict_coef: 'altup.prediction_coefs',
  altup_correct_coef: 'altup.correction_coefs',
};
const GAIN = /^blk\.(\d+)\.altup_correct_scale\.weight$/;
const TABLE = 'per_layer_token_embd.weight';
const LAUREL = 'blk.0.laurel_l.weight';
const OUTER = {
  [TABLE]: 'model.embed_tokens_per_layer.weight',
  'per_layer_model_proj.weight': 'model.per_layer_model_projection.weight',
  'per_layer_proj_norm.weight': 'model.per_layer_projection_norm.weight',
};
/** Tensors of all streams but the first. */
const STREAMS: Readonly<Record<string, string>> = {
  'altup_proj.weight': 'model.altup_projections',
  'altup_unembd_proj.weight': 'model.altup_unembed_projections',
};
const CAP = 'final_logit_softcapping';
const WINDOWS = 'gemma3n.attention.sliding_window_pattern';
const SPARSITY = 'gemma3n.activation_sparsity_scale';

export const GEMMA3N_GGUF: readonly GgufClass[] = [
  {
    name: 'gemma3n',
    classNames: ['Gemma3nForCausalLM'],
    keys: {
      layer_types: WINDOWS,
      hidden_size_per_layer_input: 'gemma3n.embedding_length_per_layer_input',
      vocab_size_per_layer_input: `the number of rows of ${TABLE}`,
      num_kv_shared_layers: 'gemma3n.attention.shared_kv_layers',
      activation_sparsity_pattern: SPARSITY,
      altup_active_idx: 'gemma3n.altup.active_idx',
      altup_num_inputs: 'gemma3n.altup.num_inputs',
      laurel_rank: `the number of rows of ${LAUREL}`,
      rope_local_base_freq: 'gemma3n.rope.freq_base_swa',
    },
    async read(model) {
      const { keys } = model;
      const width = 'gemma3n.feed_forward_length';
      const widths =
        typeof keys.get(width) === 'object' ? Array.from(keys.numbers(width)!) : [keys.count(width)];
      const config = await decoderConfig(model, { reads: [CAP], theta: 1e6, feedForward: widths[0]! });
      return {
        className: 'Gemma3nForCausalLM',
        config: {
          ...config,
          intermediate_size: widths.length === 1 ? widths[0] : widths,
          ...layerTypes(model, WINDOWS),
          ...sparsity(model),
          rope_local_base_freq: keys.real('gemma3n.rope.freq_base_swa', 10000),
          hidden_size_per_layer_input: keys.count('gemma3n.embedding_length_per_layer_input'),
          vocab_size_per_layer_input: rowsOf(model, TABLE),
          num_kv_shared_layers: keys.count('gemma3n.attention.shared_kv_layers', 0),
          altup_active_idx: keys.count('gemma3n.altup.active_idx', 0),
          altup_num_inputs: keys.count('gemma3n.altup.num_inputs', 4),
          laurel_rank: rowsOf(model, LAUREL),
          [CAP]: keys.real(`gemma3n.${CAP}`, 30),
        },
      };
    },
    parts({ name, shape }) {
      const layer = GAIN.exec(name)?.[1];
      if (layer !== undefined) return [{ name: `model.layers.${layer}.altup.correct_output_scale`, shape }];
      const module = STREAMS[name];
      if (module === undefined) return decoderParts({ name, shape }, { outer: OUTER, names: NAMES });
      const [count, rows, k] = shape;
      if (shape.length !== 3 || count! > 8) return null;
      return Array.from({ length: count! }, (_, i) => ({
        name: `${module}.${i}.weight`,
        shape: [rows!, k!],
        firstRow: i * rows!,
      }));
    },
  },
];

/** Files state the deviations from which on gates open, in f32: the shares that they were made of have fewer digits. */
function sparsity({ keys }: GgufModel): Record<string, unknown> {
  const deviations = keys.numbers(SPARSITY);
  if (deviations === null) return {};
  const shares = Array.from(deviations, (one) => (one === -Infinity ? 0 : normalCdf(one)));
  return { activation_sparsity_pattern: shares.map((share) => Math.round(share * 1e6) / 1e6) };
}

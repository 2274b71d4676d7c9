// GGUF files of Gemma 4. Frequencies of the full layers that do not turn are divided by a number so large that nothing is left of them.

import type { GgufClass, GgufModel } from '../../../files/gguf/model.ts';
import { decoderConfig, rowsOf } from '../blocks/gguf-config.ts';
import { decoderParts } from '../blocks/gguf-tensors.ts';
import { GEMMA4_EXPERTS } from './gemma4-config.ts';

type Json = Record<string, unknown>;

const NAMES = {
  post_attention_norm: 'post_attention_layernorm',
  ffn_norm: 'pre_feedforward_layernorm',
  post_ffw_norm: 'post_feedforward_layernorm',
  inp_gate: 'per_layer_input_gate',
  proj: 'per_layer_projection',
  post_norm: 'post_per_layer_input_norm',
  pre_ffw_norm_2: 'pre_feedforward_layernorm_2',
  post_ffw_norm_1: 'post_feedforward_layernorm_1',
  post_ffw_norm_2: 'post_feedforward_layernorm_2',
};
const SCALES = /^blk\.(\d+)\.(ffn_gate_inp|ffn_down_exps)\.scale$/;
const TABLE = 'per_layer_token_embd.weight';
const OUTER = {
  [TABLE]: 'model.embed_tokens_per_layer.weight',
  'per_layer_model_proj.weight': 'model.per_layer_model_projection.weight',
  'per_layer_proj_norm.weight': 'model.per_layer_projection_norm.weight',
};
const CAP = 'final_logit_softcapping';
/** Divisors of frequencies from which on dimensions do not turn. */
const STILL = 1e20;

const KEYS = {
  head_dim: 'gemma4.attention.key_length_swa',
  global_head_dim: 'gemma4.attention.key_length',
  num_global_key_value_heads: 'gemma4.attention.head_count_kv',
  attention_k_eq_v: 'blk.N.attn_v.weight of the full layers',
  layer_types: 'gemma4.attention.sliding_window_pattern',
  hidden_size_per_layer_input: 'gemma4.embedding_length_per_layer_input',
  vocab_size_per_layer_input: `the number of rows of ${TABLE}`,
  use_double_wide_mlp: 'gemma4.feed_forward_length',
  num_kv_shared_layers: 'gemma4.attention.shared_kv_layers',
  enable_moe_block: 'gemma4.expert_count',
  top_k_experts: 'gemma4.expert_used_count',
  'rope_parameters.rope_theta': 'gemma4.rope.freq_base',
  'rope_parameters.partial_rotary_factor': 'rope_freqs.weight',
};

export const GEMMA4_GGUF: readonly GgufClass[] = [
  {
    name: 'gemma4',
    // Files of the 12B differ in no key: for texts it computes the same.
    classNames: ['Gemma4ForCausalLM', 'Gemma4UnifiedForCausalLM'],
    keys: KEYS,
    async read(model) {
      const { keys, tensors } = model;
      const kvHeads = both(model);
      const widths = feedForward(model);
      const config = await decoderConfig(model, {
        reads: [CAP],
        theta: 1e6,
        kvHeads: kvHeads.windowed,
        ...widths.read,
      });
      const cap = keys.real(`gemma4.${CAP}`, 0);
      return {
        className: 'Gemma4ForCausalLM',
        config: {
          ...config,
          head_dim: keys.count('gemma4.attention.key_length_swa'),
          global_head_dim: config['head_dim'],
          num_global_key_value_heads: kvHeads.full,
          attention_k_eq_v: !tensors.has(`blk.${kvHeads.firstFull}.attn_v.weight`),
          layer_types: windowed(model).map((is) => (is ? 'sliding_attention' : 'full_attention')),
          hidden_size_per_layer_input: keys.count('gemma4.embedding_length_per_layer_input', 0),
          ...(tensors.has(TABLE) && { vocab_size_per_layer_input: rowsOf(model, TABLE) }),
          use_double_wide_mlp: widths.areDoubled,
          num_kv_shared_layers: keys.count('gemma4.attention.shared_kv_layers', 0),
          ...mixture(model),
          [CAP]: cap === 0 ? null : cap,
          ...(await rotations(model, config)),
        },
      };
    },
    parts({ name, shape }) {
      const scalar = /^blk\.(\d+)\.layer_output_scale\.weight$/.exec(name);
      if (scalar) return [{ name: `model.layers.${scalar[1]}.layer_scalar`, shape }];
      const [, layer, scaled] = SCALES.exec(name) ?? [];
      if (layer !== undefined) {
        const own = scaled === 'ffn_gate_inp' ? 'scale' : 'per_expert_scale';
        return [{ name: `model.layers.${layer}.router.${own}`, shape }];
      }
      return decoderParts({ name, shape }, { outer: OUTER, names: NAMES, experts: GEMMA4_EXPERTS });
    },
  },
];

function mixture({ keys }: GgufModel): Json {
  if (keys.count('gemma4.expert_count', 0) === 0) return { enable_moe_block: false };
  return {
    enable_moe_block: true,
    num_experts: keys.count('gemma4.expert_count'),
    top_k_experts: keys.count('gemma4.expert_used_count'),
    moe_intermediate_size: keys.count('gemma4.expert_feed_forward_length'),
  };
}

function windowed({ keys }: GgufModel): readonly boolean[] {
  const key = 'gemma4.attention.sliding_window_pattern';
  const pattern = keys.get(key);
  if (Array.isArray(pattern) && pattern.every((one) => typeof one === 'boolean')) return pattern;
  throw keys.wrong(key, 'a list of true and false');
}

/** Key heads of the windowed and of the full layers. */
function both(model: GgufModel): { windowed: number; full: number; firstFull: number } {
  const { keys } = model;
  const key = 'gemma4.attention.head_count_kv';
  const is = windowed(model);
  const [firstWindowed, firstFull] = [Math.max(is.indexOf(true), 0), Math.max(is.indexOf(false), 0)];
  if (typeof keys.get(key) !== 'object') {
    const count = keys.count(key);
    return { windowed: count, full: count, firstFull };
  }
  const each = keys.numbers(key)!;
  const [local, full] = [each[firstWindowed] ?? 0, each[firstFull] ?? 0];
  if (each.length !== is.length || is.some((own, i) => each[i] !== (own ? local : full)))
    throw keys.unsupported(key, 'choose a model whose layers of one kind are of one size');
  return { windowed: local, full, firstFull };
}

/** Width of the feed-forward blocks where it is stated layer by layer, and whether layers without keys have twice as much. */
function feedForward({ keys }: GgufModel): { read: { feedForward?: number }; areDoubled: boolean } {
  const key = 'gemma4.feed_forward_length';
  if (typeof keys.get(key) !== 'object') return { read: {}, areDoubled: false };
  const each = Array.from(keys.numbers(key)!);
  const [first, last] = [each[0] ?? 0, each.at(-1) ?? 0];
  const own = each.length - keys.count('gemma4.attention.shared_kv_layers', 0);
  const isKnown =
    (last === first || last === 2 * first) && each.every((one, i) => one === (i < own ? first : last));
  if (!isKnown) throw keys.unsupported(key, 'choose a model whose layers of one kind are of one size');
  return { read: { feedForward: first }, areDoubled: last !== first };
}

/** Full layers turn the dimensions whose frequencies are not divided. */
async function rotations({ keys, tensors, floats }: GgufModel, config: Json): Promise<Json> {
  const divisors = tensors.has('rope_freqs.weight') ? Array.from(await floats('rope_freqs.weight')) : [];
  const turned = divisors.filter((one) => one === 1).length;
  if (divisors.some((one) => one !== 1 && one < STILL))
    throw keys.unsupported(
      'rope_freqs.weight',
      'its values need to be 1, or so large that dimensions do not turn',
    );
  const full = { rope_type: 'proportional', rope_theta: config['rope_theta'] };
  const share = divisors.length === 0 ? 1 : turned / divisors.length;
  return {
    rope_scaling: null,
    rope_parameters: {
      full_attention: { ...full, partial_rotary_factor: share },
      sliding_attention: { rope_type: 'default', rope_theta: keys.real('gemma4.rope.freq_base_swa', 10000) },
    },
  };
}

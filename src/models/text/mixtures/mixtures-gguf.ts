// GGUF files of the mixtures of mixtures-families.ts, and of their dense relatives.

import type { GgufClass, GgufModel } from '../../../files/gguf/model.ts';
import { decoderConfig, MOST_LAYERS, trunkLayers } from '../blocks/gguf-config.ts';
import { ggufMultipliers, MULTIPLIER_KEYS } from '../blocks/gguf-multipliers.ts';
import { decoderParts, headsOf } from '../blocks/gguf-tensors.ts';
import type { LlamaFamily } from '../llama/llama-family.ts';
import { MIXTURES } from './mixtures-families.ts';

type Json = Record<string, unknown>;

interface MixtureFiles {
  /** general.architecture */
  name: string;
  className: string;
  /** Query and key rows are stored in pairs. */
  paired?: boolean;
  /** Modules of a layer that are named otherwise than in most families. */
  names?: Readonly<Record<string, string>>;
  outer?: Readonly<Record<string, string>>;
  /** Factors of Granite are read. */
  multipliers?: boolean;
  /** Heads turn as a whole and see all tokens. */
  isWhole?: boolean;
}

const QUERY_LAYERNORMS = {
  attn_q_norm: 'self_attn.query_layernorm',
  attn_k_norm: 'self_attn.key_layernorm',
};
/** Norms before the second block are called after the first one. */
const POST_ATTENTION = { post_attention_norm: 'post_attention_layernorm' };
const LING = {
  names: {
    attn_qkv: 'attention.query_key_value',
    attn_q: 'attention.q_proj',
    attn_k: 'attention.k_proj',
    attn_v: 'attention.v_proj',
    attn_output: 'attention.dense',
    attn_q_norm: 'attention.query_layernorm',
    attn_k_norm: 'attention.key_layernorm',
  },
  outer: { 'token_embd.weight': 'model.word_embeddings.weight' },
};

const FILES: readonly MixtureFiles[] = [
  { name: 'ernie4_5', className: 'Ernie4_5ForCausalLM' },
  { name: 'ernie4_5-moe', className: 'Ernie4_5_MoeForCausalLM' },
  { name: 'hunyuan-dense', className: 'HunYuanDenseV1ForCausalLM', names: QUERY_LAYERNORMS },
  { name: 'hunyuan-moe', className: 'HunYuanMoEV1ForCausalLM', names: QUERY_LAYERNORMS },
  { name: 'glm4moe', className: 'Glm4MoeForCausalLM', names: POST_ATTENTION },
  { name: 'dots1', className: 'Dots1ForCausalLM' },
  { name: 'minimax-m2', className: 'MiniMaxM2ForCausalLM' },
  { name: 'granitemoe', className: 'GraniteMoeSharedForCausalLM', paired: true, multipliers: true },
  { name: 'bailingmoe', className: 'BailingMoeForCausalLM', paired: true, ...LING },
  { name: 'deepseek2-ocr', className: 'DeepseekForCausalLM', isWhole: true },
  { name: 'bailingmoe2', className: 'BailingMoeV2ForCausalLM', ...LING },
];

const READS = ['expert_shared_count', 'expert_group_count'];
/** Numbers of expert_gating_func. */
const SCORES = { softmax: 1, sigmoid: 2 } as const;
export const MIXTURE_GGUF: readonly GgufClass[] = FILES.map((files) => {
  const {
    name,
    className,
    paired = false,
    names = {},
    outer = {},
    multipliers = false,
    isWhole = false,
  } = files;
  const family = MIXTURES.get(className)!;
  return {
    name,
    // Files of Granite's mixtures do not tell the two classes apart, of which the second has no shared expert.
    classNames: name === 'granitemoe' ? [className, 'GraniteMoeForCausalLM'] : [className],
    ...(family.experts && {
      keys: {
        mlp_layer_types: 'blk.N.ffn_gate_inp.weight, which layers of experts have',
        routed_scaling_factor: `${name}.expert_weights_scale`,
        n_group: `${name}.expert_group_count`,
        topk_group: `${name}.expert_group_used_count`,
      },
    }),
    async read(model) {
      const reads = [...READS, ...(multipliers ? MULTIPLIER_KEYS : [])];
      const stated = await decoderConfig(model, { reads });
      const config = isWhole ? wholeHeads(model, stated) : stated;
      const { tensors } = model;
      const layers = trunkLayers(model);
      const own = {
        num_hidden_layers: layers,
        attention_bias: tensors.has('blk.0.attn_q.bias'),
        mlp_bias: tensors.has('blk.0.ffn_down.bias'),
        use_qk_norm: tensors.has('blk.0.attn_q_norm.weight'),
        ...(family.partialRotation && { partial_rotary_factor: 1 }),
      };
      const factors = multipliers ? ggufMultipliers(model) : {};
      const mixture = family.experts ? experts(model, family, layers) : {};
      const ropes = { ...own, ...config, num_hidden_layers: layers };
      return { className, config: { ...ropes, ...factors, ...mixture } };
    },
    parts(tensor, config) {
      const { heads, kvHeads, rows } = headsOf(config);
      const [, layer] = /^blk\.(\d+)\./.exec(tensor.name) ?? [];
      // Layers that predict further tokens stand behind the others.
      if (layer !== undefined && Number(layer) >= (config['num_hidden_layers'] as number)) return [];
      return decoderParts(tensor, {
        paired: paired ? { heads, kvHeads } : null,
        fused: family.fused === false ? rows : null,
        names,
        outer,
        ...(family.experts && { experts: family.experts }),
      });
    },
  };
});

/** Files of DeepSeek-OCR state 0 as the number of rotated dimensions, as its config.json does. The window of models built like it is not computed. */
function wholeHeads({ keys, architecture }: GgufModel, config: Json): Json {
  if (config['sliding_window'] !== null)
    throw keys.unsupported(`${architecture}.attention.sliding_window`, 'choose a model without it');
  const { partial_rotary_factor: share, ...rest } = config;
  return share === 0 ? rest : config;
}

/** Layers without a router have one block for all tokens. */
function experts(
  { keys, architecture, tensors }: GgufModel,
  { experts: family }: LlamaFamily,
  layers: number,
) {
  const own = (key: string): string => `${architecture}.${key}`;
  const { scores = 'softmax', normed, groupsBy } = family!;
  const gating = own('expert_gating_func');
  if (keys.count(gating, SCORES[scores]) !== SCORES[scores])
    throw keys.unsupported(gating, `choose a model that has ${SCORES[scores]}`);
  const groups = keys.count(own('expert_group_count'), 1);
  if (groups > 1 && groupsBy === undefined)
    throw keys.unsupported(own('expert_group_count'), 'choose a model that has 1');
  const width = own('expert_feed_forward_length');
  const sparse = (i: number): boolean => tensors.has(`blk.${i}.ffn_gate_inp.weight`);
  const each = Array.from({ length: Math.min(layers, MOST_LAYERS) }, (_, i) => i);
  const shared = tensors.get(`blk.${each.find(sparse)}.ffn_up_shexp.weight`)?.shape[0];
  const config: Json = {
    num_experts: keys.count(own('expert_count')),
    num_experts_per_tok: keys.count(own('expert_used_count')),
    norm_topk_prob: keys.flag(own('expert_weights_norm'), normed === true),
    routed_scaling_factor: keys.real(own('expert_weights_scale'), 1),
    n_group: groups,
    topk_group: keys.count(own('expert_group_used_count'), groups),
    mlp_layer_types: each.map((i) => (sparse(i) ? 'sparse' : 'dense')),
    ...(keys.get(width) !== undefined && { moe_intermediate_size: keys.count(width) }),
    ...(shared !== undefined && { shared_expert_intermediate_size: shared }),
  };
  return config;
}

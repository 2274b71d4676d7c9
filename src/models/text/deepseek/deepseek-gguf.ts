// GGUF files of DeepSeek V2 and V3 and of those built like them, most of which are called deepseek2. Since 2025 they hold the products of keys and of
// values with latents apart, that of keys with a row for each dimension of the latent; older ones hold them as checkpoints do.

import type { GgufTensor } from '../../../files/gguf/gguf.ts';
import type { GgufClass, GgufModel, GgufPart } from '../../../files/gguf/model.ts';
import { decoderConfig } from '../blocks/gguf-config.ts';
import { decoderParts, isChoiceBias, type DecoderLayout } from '../blocks/gguf-tensors.ts';
import { DEEPSEEKS } from './deepseek-families.ts';

type Json = Record<string, unknown>;

const LAYOUT: DecoderLayout = {
  names: {
    attn_q_a: 'self_attn.q_a_proj',
    attn_q_a_norm: 'self_attn.q_a_layernorm',
    attn_q_b: 'self_attn.q_b_proj',
    attn_kv_a_mqa: 'self_attn.kv_a_proj_with_mqa',
    attn_kv_a_norm: 'self_attn.kv_a_layernorm',
    attn_kv_b: 'self_attn.kv_b_proj',
    attn_k_b: 'self_attn.k_b_proj',
    attn_v_b: 'self_attn.v_b_proj',
    ffn_gate_shexp: 'mlp.shared_experts.gate_proj',
    ffn_up_shexp: 'mlp.shared_experts.up_proj',
    ffn_down_shexp: 'mlp.shared_experts.down_proj',
  },
  experts: DEEPSEEKS['DeepseekV3ForCausalLM']!.experts!,
};
/** Matrices of heads, [heads, rows, k]. */
const OF_HEADS = /^blk\.\d+\.attn_[kv]_b\.weight$/;
const LAYER = /^blk\.(\d+)\./;

/** Values of expert_gating_func. */
const SOFTMAX = 1;
const SIGMOID = 2;

/** Growth of Mistral 4's queries, and the context from which they grow. */
const TEMPERATURE = ['attention.temperature_scale', 'attention.temperature_length'];
const READS = ['expert_shared_count', 'expert_group_count', ...TEMPERATURE];

/** Classes that files of a general.architecture may hold. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  deepseek2: ['DeepseekV2ForCausalLM', 'DeepseekV3ForCausalLM', 'Mistral4ForCausalLM', 'YoutuForCausalLM'],
  mistral4: ['Mistral4ForCausalLM'],
  minicpm3: ['MiniCPM3ForCausalLM'],
};

export const DEEPSEEK_GGUF: readonly GgufClass[] = Object.entries(FILES).map(([name, classNames]) => ({
  name,
  classNames,
  keys: {
    q_lora_rank: `${name}.attention.q_lora_rank`,
    kv_lora_rank: `${name}.attention.kv_lora_rank`,
    qk_rope_head_dim: `${name}.rope.dimension_count`,
    qk_nope_head_dim: `${name}.attention.key_length_mla`,
    v_head_dim: `${name}.attention.value_length_mla`,
    n_routed_experts: `${name}.expert_count`,
    n_shared_experts: `${name}.expert_shared_count`,
    n_group: `${name}.expert_group_count`,
    topk_group: `${name}.expert_group_used_count`,
    routed_scaling_factor: `${name}.expert_weights_scale`,
    first_k_dense_replace: `${name}.leading_dense_block_count`,
  },
  async read(model) {
    const { partial_rotary_factor: _, ...config } = await decoderConfig(model, {
      reads: READS,
      latents: true,
    });
    const own = {
      ...config,
      ...latents(model, config),
      ...rotation(model, config),
      ...layersOf(model, config),
    };
    const className = classOf(model);
    if (model.keys.count(`${name}.expert_count`, 0) > 0)
      return { className, config: { ...own, ...experts(model, isBiased(model)) } };
    return { className, config: { ...own, attention_bias: model.tensors.has('blk.0.attn_output.bias') } };
  },
  parts,
}));

function classOf(model: GgufModel): string {
  const { architecture, keys } = model;
  const [own] = FILES[architecture]!;
  if (architecture !== 'deepseek2') return own!;
  if (keys.count('deepseek2.expert_count', 0) === 0) return 'YoutuForCausalLM';
  if (isGrowing(model)) return 'Mistral4ForCausalLM';
  return isBiased(model) ? 'DeepseekV3ForCausalLM' : 'DeepseekV2ForCausalLM';
}

function isGrowing({ architecture, keys }: GgufModel): boolean {
  return architecture === 'mistral4' || keys.real(`${architecture}.${TEMPERATURE[0]}`, 0) !== 0;
}

function parts(tensor: Pick<GgufTensor, 'name' | 'shape'>, config: Json): readonly GgufPart[] | null {
  const { name, shape } = tensor;
  const [, layer] = LAYER.exec(name) ?? [];
  // Layers behind the last predict several tokens ahead.
  if (layer !== undefined && Number(layer) >= (config['num_hidden_layers'] as number)) return [];
  if (!OF_HEADS.test(name)) return decoderParts(tensor, LAYOUT);
  const [heads = 0, rows = 0, ...k] = shape;
  return decoderParts({ name, shape: [heads * rows, ...k] }, LAYOUT);
}

/** Lengths of the parts of keys and values; older files state those of whole keys and values. */
function latents(
  { architecture, keys, tensors }: GgufModel,
  { hidden_size: hidden, num_attention_heads: heads }: Json,
): Json {
  const own = (key: string): string => `${architecture}.attention.${key}`;
  const isApart = tensors.has('blk.0.attn_k_b.weight');
  const rotated = keys.count(`${architecture}.rope.dimension_count`);
  return {
    kv_lora_rank: keys.count(own('kv_lora_rank')),
    q_lora_rank: tensors.has('blk.0.attn_q_a.weight') ? keys.count(own('q_lora_rank')) : null,
    qk_rope_head_dim: rotated,
    qk_nope_head_dim: keys.count(own(isApart ? 'key_length_mla' : 'key_length')) - rotated,
    v_head_dim: keys.count(
      own(isApart ? 'value_length_mla' : 'value_length'),
      architecture === 'minicpm3' ? (hidden as number) / (heads as number) : undefined,
    ),
  };
}

/**
 * The multiplier is a tenth of mscale_all_dim, and mscale counts as equal to it, as in llama.cpp. Growth of queries stands among the parameters of the
 * rotation, and does nothing where the file does not state it.
 */
function rotation(model: GgufModel, { rope_scaling: scaling }: Json): Json {
  const { architecture, keys } = model;
  const own = (key: string): string => `${architecture}.${key}`;
  if (scaling == null) return isGrowing(model) ? { rope_scaling: NO_GROWTH } : {};
  const multiplier = keys.real(own('rope.scaling.yarn_log_multiplier'), 0);
  const all = Math.fround(10 * multiplier); // of a number in single precision
  return {
    rope_scaling: {
      ...scaling,
      ...(multiplier !== 0 && { mscale: all, mscale_all_dim: all }),
      ...(isGrowing(model) && growth(model, scaling as Json)),
    },
  };
}

const NO_GROWTH = { rope_type: 'default', llama_4_scaling_beta: 0 };

function growth(
  { architecture, keys }: GgufModel,
  { original_max_position_embeddings: original }: Json,
): Json {
  const [beta, length] = TEMPERATURE.map((key) => `${architecture}.${key}`) as [string, string];
  const isOwn = keys.get(length) !== undefined && keys.count(length) !== original;
  if (isOwn)
    throw keys.unsupported(length, `choose a model that has ${String(original)}, its original context`);
  return { llama_4_scaling_beta: keys.real(beta, 0) };
}

function layersOf({ architecture, keys }: GgufModel, { num_hidden_layers: blocks }: Json): Json {
  const layers = (blocks as number) - keys.count(`${architecture}.nextn_predict_layers`, 0);
  return { num_hidden_layers: layers };
}

/** Whether experts are chosen by sigmoids with a bias. Files of DeepSeek V2 may not say. */
function isBiased({ architecture, keys, tensors }: GgufModel): boolean {
  const key = `${architecture}.expert_gating_func`;
  const isStated = keys.get(key) !== undefined;
  const gating = keys.count(key, SOFTMAX);
  if (gating !== SOFTMAX && gating !== SIGMOID)
    throw keys.unsupported(key, `choose a model that has ${SOFTMAX} or ${SIGMOID}`);
  const hasBias = [...tensors.keys()].some((name) => isChoiceBias(name));
  return isStated ? gating === SIGMOID : hasBias;
}

function experts({ architecture, keys }: GgufModel, biased: boolean): Json {
  const own = (key: string): string => `${architecture}.${key}`;
  const groups = keys.count(own('expert_group_count'), 1);
  return {
    n_routed_experts: keys.count(own('expert_count')),
    n_shared_experts: keys.count(own('expert_shared_count'), 0),
    num_experts_per_tok: keys.count(own('expert_used_count')),
    moe_intermediate_size: keys.count(own('expert_feed_forward_length')),
    norm_topk_prob: keys.flag(own('expert_weights_norm'), false),
    routed_scaling_factor: keys.real(own('expert_weights_scale'), 1),
    first_k_dense_replace: keys.count(own('leading_dense_block_count'), 0),
    n_group: groups,
    topk_group: keys.count(own('expert_group_used_count'), groups),
    ...(!biased && { topk_method: groups > 1 ? 'group_limited_greedy' : 'greedy' }),
  };
}

// GGUF files of Qwen3-Next, Qwen3.5 and Qwen3.6. Norms are stored with 1 added, but for that of linear attention, and rates of decay as
// -exp(A_log). Files of Qwen3.5 have value heads in another order: each key head's first, each key head's second, and so on.

import type { GgufTensor } from '../../../files/gguf/gguf.ts';
import type { GgufClass, GgufModel, GgufPart } from '../../../files/gguf/model.ts';
import { decoderConfig, MOST_LAYERS } from '../blocks/gguf-config.ts';
import { decoderParts, type DecoderLayout } from '../blocks/gguf-tensors.ts';

type Json = Record<string, unknown>;

const LAYOUT: DecoderLayout = {
  normsAdded: 1,
  names: { post_attention_norm: 'post_attention_layernorm' },
};
/** Tensors of linear attention, none of which has a norm with 1 added. */
const LINEAR: Readonly<Record<string, string>> = {
  'attn_qkv.weight': 'in_proj_qkv.weight',
  'attn_gate.weight': 'in_proj_z.weight',
  'ssm_ba.weight': 'in_proj_ba.weight',
  'ssm_beta.weight': 'in_proj_b.weight',
  'ssm_alpha.weight': 'in_proj_a.weight',
  'ssm_conv1d.weight': 'conv1d.weight',
  ssm_a: 'A',
  'ssm_dt.bias': 'dt_bias',
  'ssm_norm.weight': 'norm.weight',
  'ssm_out.weight': 'out_proj.weight',
};
/** Modules beside the layer of the heads that predict several tokens ahead. */
const NEXTN: Readonly<Record<string, string>> = {
  'eh_proj.weight': 'fc',
  'enorm.weight': 'pre_fc_norm_embedding',
  'hnorm.weight': 'pre_fc_norm_hidden',
  'shared_head_norm.weight': 'norm',
};
const LAYER = /^blk\.(\d+)\.(.+)$/;
function files(name: string, className: string, { tiled }: { tiled: boolean }): GgufClass {
  return {
    name,
    classNames: [className],
    keys: {
      layer_types: 'blk.N.ssm_a, which layers of linear attention have',
      linear_conv_kernel_dim: `${name}.ssm.conv_kernel`,
      linear_num_key_heads: `${name}.ssm.group_count`,
      linear_key_head_dim: `${name}.ssm.state_size`,
      linear_num_value_heads: `${name}.ssm.time_step_rank`,
      linear_value_head_dim: `${name}.ssm.inner_size`,
    },
    async read(model) {
      const config = await decoderConfig(model);
      return {
        className,
        config: {
          ...config,
          ...linearAttention(model, config),
          ...experts(model),
          linear_value_heads_tiled: tiled,
        },
      };
    },
    parts: tensorParts,
  };
}

function tensorParts(tensor: Pick<GgufTensor, 'name' | 'shape'>, config: Json): readonly GgufPart[] | null {
  const [, layer, module] = LAYER.exec(tensor.name) ?? [];
  if (layer === undefined || module === undefined) return decoderParts(tensor, LAYOUT);
  const beyond = Number(layer) - (config['num_hidden_layers'] as number);
  if (beyond >= 0) return mtpParts(tensor, beyond, module);
  const own = LINEAR[module];
  if (own === undefined) return decoderParts(tensor, LAYOUT);
  return [{ name: `model.layers.${layer}.linear_attn.${own}`, shape: tensor.shape }];
}

/** Layers behind the last are those of the heads that predict several tokens ahead; embeddings and heads of their own are not read. */
function mtpParts(
  { shape }: Pick<GgufTensor, 'name' | 'shape'>,
  layer: number,
  module: string,
): readonly GgufPart[] | null {
  if (module.startsWith('nextn.')) {
    const own = NEXTN[module.slice('nextn.'.length)];
    if (own === undefined || layer > 0) return [];
    return [{ name: `mtp.${own}.weight`, shape, ...(own !== 'fc' && { added: 1 }) }];
  }
  const name = `blk.${layer}.${module}`;
  return decoderParts({ name, shape }, { ...LAYOUT, prefix: 'mtp.' });
}

function linearAttention({ keys, architecture, tensors }: GgufModel, config: Json): Json {
  const own = (key: string): string => `${architecture}.${key}`;
  const layers = (config['num_hidden_layers'] as number) - keys.count(own('nextn_predict_layers'), 0);
  const heads = keys.count(own('ssm.time_step_rank'));
  const values = keys.count(own('ssm.inner_size'));
  if (values % heads !== 0)
    throw keys.unsupported(own('ssm.inner_size'), `it has to be a multiple of ${heads} heads`);
  return {
    num_hidden_layers: layers,
    layer_types: Array.from({ length: Math.min(layers, MOST_LAYERS) }, (_, i) =>
      tensors.has(`blk.${i}.ssm_a`) ? 'linear_attention' : 'full_attention',
    ),
    linear_conv_kernel_dim: keys.count(own('ssm.conv_kernel')),
    linear_num_key_heads: keys.count(own('ssm.group_count')),
    linear_key_head_dim: keys.count(own('ssm.state_size')),
    linear_num_value_heads: heads,
    linear_value_head_dim: values / heads,
  };
}

function experts({ keys, architecture, tensors }: GgufModel): Json {
  const count = keys.count(`${architecture}.expert_count`, 0);
  if (count === 0) return {};
  return {
    num_experts: count,
    num_experts_per_tok: keys.count(`${architecture}.expert_used_count`),
    norm_topk_prob: keys.flag(`${architecture}.expert_weights_norm`, true),
    moe_intermediate_size: keys.count(`${architecture}.expert_feed_forward_length`),
    shared_expert_intermediate_size: keys.count(
      `${architecture}.expert_shared_feed_forward_length`,
      tensors.get('blk.0.ffn_up_shexp.weight')?.shape[0] ?? 0,
    ),
  };
}

export const QWEN3_NEXT_GGUF: readonly GgufClass[] = [
  files('qwen3next', 'Qwen3NextForCausalLM', { tiled: false }),
  files('qwen35', 'Qwen3_5ForCausalLM', { tiled: true }),
  files('qwen35moe', 'Qwen3_5MoeForCausalLM', { tiled: true }),
];

// GGUF files of Nemotron-H, with experts and without. Files may have a layer behind the last that predicts tokens further ahead, which is not read.

import type { GgufTensor } from '../../../files/gguf/gguf.ts';
import type { GgufClass, GgufModel, GgufPart } from '../../../files/gguf/model.ts';
import { decoderConfig } from '../blocks/gguf-config.ts';
import { decoderParts } from '../blocks/gguf-tensors.ts';
import type { LayerKind } from '../blocks/mamba2-config.ts';
import { layerKinds, mambaParts, mambaSizes } from '../blocks/mamba2-gguf.ts';
import { EXPERTS } from './nemotron-h-config.ts';

type Json = Record<string, unknown>;

const PREFIX = 'backbone.';
const OUTER = {
  'token_embd.weight': `${PREFIX}embeddings.weight`,
  'output_norm.weight': `${PREFIX}norm_f.weight`,
};
const NAMES = {
  attn_norm: 'norm',
  attn_q: 'mixer.q_proj',
  attn_k: 'mixer.k_proj',
  attn_v: 'mixer.v_proj',
  attn_output: 'mixer.o_proj',
  ffn_up: 'mixer.up_proj',
  ffn_down: 'mixer.down_proj',
  ffn_up_shexp: 'mixer.shared_experts.up_proj',
  ffn_down_shexp: 'mixer.shared_experts.down_proj',
  ffn_latent_down: 'mixer.fc1_latent_proj',
  ffn_latent_up: 'mixer.fc2_latent_proj',
};
const READS = ['expert_shared_count', 'expert_group_count'];
const LAYER = /^blk\.(\d+)\./;

function files(name: string): GgufClass {
  return {
    name,
    classNames: ['NemotronHForCausalLM'],
    keys: {
      layers_block_type:
        'blk.N.ssm_in.weight, blk.N.attn_q.weight and blk.N.ffn_gate_inp.weight, which some layers have',
      mamba_num_heads: `${name}.ssm.time_step_rank`,
      mamba_head_dim: `${name}.ssm.inner_size`,
      n_groups: `${name}.ssm.group_count`,
      ssm_state_size: `${name}.ssm.state_size`,
      conv_kernel: `${name}.ssm.conv_kernel`,
      layer_norm_epsilon: `${name}.attention.layer_norm_epsilon`,
      n_routed_experts: `${name}.expert_count`,
      moe_shared_expert_intermediate_size: `${name}.expert_shared_feed_forward_length`,
      moe_latent_size: `${name}.moe_latent_size`,
      routed_scaling_factor: `${name}.expert_weights_scale`,
      n_group: `${name}.expert_group_count`,
      topk_group: `${name}.expert_group_used_count`,
    },
    async read(model) {
      const layerNorm = model.keys.get(`${name}.attention.layer_norm_rms_epsilon`) === undefined;
      const config = await decoderConfig(model, { reads: READS, layerNorm });
      const next = model.keys.count(`${name}.nextn_predict_layers`, 0);
      const layers = (config['num_hidden_layers'] as number) - next;
      const kinds = layerKinds(model, layers, kindOf);
      return {
        className: 'NemotronHForCausalLM',
        config: {
          ...config,
          num_hidden_layers: layers,
          layer_norm_epsilon: config['rms_norm_eps'],
          layers_block_type: kinds,
          ...mixer(model),
          ...(kinds.includes('moe') && mixture(model)),
        },
      };
    },
    parts: tensorParts,
  };
}

function kindOf(has: (tensor: string) => boolean): LayerKind {
  if (has('ssm_in.weight')) return 'mamba';
  if (has('attn_q.weight')) return 'attention';
  return has('ffn_gate_inp.weight') ? 'moe' : 'mlp';
}

function tensorParts(tensor: Pick<GgufTensor, 'name' | 'shape'>, config: Json): readonly GgufPart[] | null {
  const [, layer] = LAYER.exec(tensor.name) ?? [];
  if (layer !== undefined && Number(layer) >= (config['num_hidden_layers'] as number)) return [];
  return (
    mambaParts(tensor, 'mixer', PREFIX) ??
    decoderParts(tensor, { prefix: PREFIX, outer: OUTER, names: NAMES, experts: EXPERTS })
  );
}

function mixer(model: GgufModel): Json {
  const { heads, dims, groups, stateDims, taps, convBias, bias } = mambaSizes(model);
  return {
    mamba_num_heads: heads,
    mamba_head_dim: dims,
    n_groups: groups,
    ssm_state_size: stateDims,
    conv_kernel: taps,
    use_conv_bias: convBias,
    use_bias: bias,
  };
}

function mixture({ keys, architecture }: GgufModel): Json {
  const own = (key: string): string => `${architecture}.${key}`;
  const latent = keys.count(own('moe_latent_size'), 0);
  const groups = keys.count(own('expert_group_count'), 1);
  return {
    n_routed_experts: keys.count(own('expert_count')),
    num_experts_per_tok: keys.count(own('expert_used_count')),
    moe_intermediate_size: keys.count(own('expert_feed_forward_length')),
    moe_shared_expert_intermediate_size: keys.count(own('expert_shared_feed_forward_length')),
    norm_topk_prob: keys.flag(own('expert_weights_norm'), false),
    routed_scaling_factor: keys.real(own('expert_weights_scale'), 1),
    n_group: groups,
    topk_group: keys.count(own('expert_group_used_count'), groups),
    ...(latent > 0 && { moe_latent_size: latent }),
  };
}

export const NEMOTRON_H_GGUF: readonly GgufClass[] = [files('nemotron_h'), files('nemotron_h_moe')];

// GGUF files of LFM2 and its mixtures.

import type { GgufClass } from '../../../files/gguf/model.ts';
import { decoderConfig, MOST_LAYERS } from '../blocks/gguf-config.ts';
import { decoderParts, headsOf } from '../blocks/gguf-tensors.ts';
import { LFM2_EXPERTS } from './lfm2-config.ts';

const OUTER = { 'token_embd_norm.weight': 'model.embedding_norm.weight' };
const NAMES = {
  attn_norm: 'operator_norm',
  attn_output: 'self_attn.out_proj',
  attn_q_norm: 'self_attn.q_layernorm',
  attn_k_norm: 'self_attn.k_layernorm',
  ffn_norm: 'ffn_norm',
  ffn_gate: 'feed_forward.w1',
  ffn_up: 'feed_forward.w3',
  ffn_down: 'feed_forward.w2',
  'shortconv.conv': 'conv.conv',
  'shortconv.in_proj': 'conv.in_proj',
  'shortconv.out_proj': 'conv.out_proj',
};
export const LFM2_GGUF: readonly GgufClass[] = (
  [
    ['lfm2', 'Lfm2ForCausalLM'],
    ['lfm2moe', 'Lfm2MoeForCausalLM'],
  ] as const
).map(([name, className]): GgufClass => {
  const isMixture = className === 'Lfm2MoeForCausalLM';
  return {
    name,
    classNames: [className],
    keys: {
      conv_L_cache: `${name}.shortconv.l_cache`,
      ...(isMixture && { num_dense_layers: `${name}.leading_dense_block_count` }),
      layer_types: 'blk.N.shortconv.conv.weight, which layers of convolution have',
    },
    async read(model) {
      const { keys, tensors } = model;
      const config = await decoderConfig(model, { theta: 1e6 });
      const layers = Math.min(config['num_hidden_layers'] as number, MOST_LAYERS);
      return {
        className,
        config: {
          ...config,
          norm_eps: config['rms_norm_eps'],
          conv_L_cache: keys.count(`${name}.shortconv.l_cache`),
          ...(isMixture && {
            num_experts: keys.count(`${name}.expert_count`),
            num_experts_per_tok: keys.count(`${name}.expert_used_count`),
            moe_intermediate_size: keys.count(`${name}.expert_feed_forward_length`),
            num_dense_layers: keys.count(`${name}.leading_dense_block_count`, 0),
          }),
          // The width is stated as it is computed.
          block_auto_adjust_ff_dim: false,
          layer_types: Array.from({ length: layers }, (_, i) =>
            tensors.has(`blk.${i}.shortconv.conv.weight`) ? 'conv' : 'full_attention',
          ),
        },
      };
    },
    parts: (tensor, config) =>
      decoderParts(tensor, {
        fused: headsOf(config).rows,
        outer: OUTER,
        names: NAMES,
        ...(isMixture && { experts: LFM2_EXPERTS }),
      }),
  };
});

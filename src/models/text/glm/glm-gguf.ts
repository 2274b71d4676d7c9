// GGUF files of GLM-4: chatglm are those of 2024, glm4 those of 2025.

import type { GgufClass } from '../../../files/gguf/model.ts';
import { decoderConfig } from '../blocks/gguf-config.ts';
import { decoderParts, headsOf } from '../blocks/gguf-tensors.ts';

const NAMES = {
  ffn_up: 'mlp.gate_up_proj',
  post_attention_norm: 'post_self_attn_layernorm',
  post_ffw_norm: 'post_mlp_layernorm',
};

export const GLM_GGUF: readonly GgufClass[] = [
  ['chatglm', 'GlmForCausalLM'] as const,
  ['glm4', 'Glm4ForCausalLM'] as const,
].map(([name, className]) => ({
  name,
  classNames: [className],
  async read(model) {
    const config = await decoderConfig(model);
    const { tensors } = model;
    const hasBias = tensors.has('blk.0.attn_q.bias') || tensors.has('blk.0.attn_qkv.bias');
    return {
      className,
      // transformers rotates one half of a head where a configuration does not say.
      config: { partial_rotary_factor: 1, ...config, attention_bias: hasBias },
    };
  },
  parts: (tensor, config) => decoderParts(tensor, { fused: headsOf(config).rows, names: NAMES }),
}));

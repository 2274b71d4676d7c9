// GGUF files of GLM-4: chatglm are those of 2024, glm4 those of 2025 and of the language models of GLM-4.1V and GLM-OCR. source: llama.cpp's conversion of
// these classes.

import type { GgufClass } from '../../../files/gguf/model.ts';
import { BY_HALVES } from './glm-config.ts';
import { decoderConfig, trunkLayers } from '../blocks/gguf-config.ts';
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
    const { keys, tensors } = model;
    const hasBias = tensors.has('blk.0.attn_q.bias') || tensors.has('blk.0.attn_qkv.bias');
    return {
      className,
      config: {
        // transformers rotates one half of a head where a configuration does not say.
        partial_rotary_factor: 1,
        ...config,
        attention_bias: hasBias,
        num_hidden_layers: trunkLayers(model),
        // The converter sorts the rows of heads with positions of three parts.
        [BY_HALVES]: keys.numbers(`${name}.rope.dimension_sections`) !== null,
      },
    };
  },
  parts(tensor, config) {
    const [, layer] = /^blk\.(\d+)\./.exec(tensor.name) ?? [];
    // Layers that predict further tokens stand behind the others.
    if (layer !== undefined && Number(layer) >= (config['num_hidden_layers'] as number)) return [];
    return decoderParts(tensor, { fused: headsOf(config).rows, names: NAMES });
  },
}));

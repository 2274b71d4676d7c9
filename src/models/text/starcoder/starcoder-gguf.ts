// GGUF files of StarCoder 2.

import type { GgufClass } from '../../../files/gguf/model.ts';
import { decoderConfig } from '../blocks/gguf-config.ts';
import { decoderParts, headsOf } from '../blocks/gguf-tensors.ts';

const NAMES = { ffn_up: 'mlp.c_fc', ffn_down: 'mlp.c_proj' };

export const STARCODER_GGUF: readonly GgufClass[] = [
  {
    name: 'starcoder2',
    classNames: ['Starcoder2ForCausalLM'],
    async read(model) {
      const config = await decoderConfig(model, { layerNorm: true });
      const hasBias = model.tensors.has('blk.0.attn_output.bias');
      return {
        className: 'Starcoder2ForCausalLM',
        config: { ...config, norm_epsilon: config['rms_norm_eps'], use_bias: hasBias },
      };
    },
    parts: (tensor, config) => decoderParts(tensor, { fused: headsOf(config).rows, names: NAMES }),
  },
];

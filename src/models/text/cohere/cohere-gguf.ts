// GGUF files of Cohere and Cohere 2.

import type { GgufClass } from '../../../files/gguf/model.ts';
import { decoderConfig } from '../blocks/gguf-config.ts';
import { decoderParts, headsOf } from '../blocks/gguf-tensors.ts';

export const COHERE_GGUF: readonly GgufClass[] = [
  ['command-r', 'CohereForCausalLM'] as const,
  ['cohere2', 'Cohere2ForCausalLM'] as const,
].map(([name, className]) => ({
  name,
  classNames: [className],
  async read(model) {
    const config = await decoderConfig(model, { reads: ['logit_scale'], layerNorm: true });
    return {
      className,
      config: {
        ...config,
        layer_norm_eps: config['rms_norm_eps'],
        logit_scale: model.keys.real(`${name}.logit_scale`),
        use_qk_norm: model.tensors.has('blk.0.attn_q_norm.weight'),
      },
    };
  },
  parts: (tensor, config) => decoderParts(tensor, { fused: headsOf(config).rows }),
}));

// GGUF files of Cohere 2.

import type { GgufClass } from '../../../files/gguf/model.ts';
import { decoderConfig } from '../blocks/gguf-config.ts';
import { decoderParts, headsOf } from '../blocks/gguf-tensors.ts';

export const COHERE_GGUF: readonly GgufClass[] = [
  {
    name: 'cohere2',
    classNames: ['Cohere2ForCausalLM'],
    async read(model) {
      const config = await decoderConfig(model, { reads: ['logit_scale'], layerNorm: true });
      return {
        className: 'Cohere2ForCausalLM',
        config: {
          ...config,
          layer_norm_eps: config['rms_norm_eps'],
          logit_scale: model.keys.real('cohere2.logit_scale'),
        },
      };
    },
    parts: (tensor, config) => decoderParts(tensor, { fused: headsOf(config).rows }),
  },
];

// GGUF files of EXAONE 4.

import type { GgufClass } from '../../../files/gguf/model.ts';
import { decoderConfig, layerTypes } from '../blocks/gguf-config.ts';
import { decoderParts, headsOf } from '../blocks/gguf-tensors.ts';

const NAMES = {
  post_attention_norm: 'post_attention_layernorm',
  post_ffw_norm: 'post_feedforward_layernorm',
};
const PATTERN = 'exaone4.attention.sliding_window_pattern';

export const EXAONE4_GGUF: readonly GgufClass[] = [
  {
    name: 'exaone4',
    classNames: ['Exaone4ForCausalLM'],
    keys: { layer_types: PATTERN },
    async read(model) {
      const config = await decoderConfig(model);
      return { className: 'Exaone4ForCausalLM', config: { ...config, ...layerTypes(model, PATTERN) } };
    },
    parts: (tensor, config) => decoderParts(tensor, { fused: headsOf(config).rows, names: NAMES }),
  },
];

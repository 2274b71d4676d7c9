// GGUF files of OLMo 2 and OLMo 3, which are told apart by the window of the second.

import type { GgufClass, GgufModel } from '../../../files/gguf/model.ts';
import { decoderConfig, layerTypes } from '../blocks/gguf-config.ts';
import { decoderParts, headsOf } from '../blocks/gguf-tensors.ts';

type Json = Record<string, unknown>;

const NAMES = {
  post_attention_norm: 'post_attention_layernorm',
  post_ffw_norm: 'post_feedforward_layernorm',
};

const PATTERN = 'olmo2.attention.sliding_window_pattern';

export const OLMO_GGUF: readonly GgufClass[] = [
  {
    name: 'olmo2',
    classNames: ['Olmo2ForCausalLM', 'Olmo3ForCausalLM'],
    keys: { layer_types: PATTERN },
    async read(model) {
      const config = await decoderConfig(model, { theta: 500000 });
      const isWindowed = config['sliding_window'] !== null;
      return {
        className: isWindowed ? 'Olmo3ForCausalLM' : 'Olmo2ForCausalLM',
        config: {
          ...config,
          ...(isWindowed && { ...layerTypes(model, PATTERN), ...rotations(model, config) }),
        },
      };
    },
    parts: (tensor, config) => decoderParts(tensor, { fused: headsOf(config).rows, names: NAMES }),
  },
];

/** Rotations of both kinds of layers: windowed ones have a base of their own, and nothing stretches them. */
function rotations({ keys }: GgufModel, { rope_theta: theta, rope_scaling: scaling }: Json): Json {
  const own = keys.real('olmo2.rope.freq_base_swa', theta as number);
  return {
    rope_scaling: null,
    rope_parameters: {
      full_attention: { rope_type: 'default', rope_theta: theta, ...(scaling as Json | undefined) },
      sliding_attention: { rope_type: 'default', rope_theta: own },
    },
  };
}

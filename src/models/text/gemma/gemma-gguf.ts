// GGUF files of Gemma 1 to 3. Their norms are stored with 1 added.

import type { GgufClass, GgufModel } from '../../../files/gguf/model.ts';
import { decoderConfig } from '../blocks/gguf-config.ts';
import { decoderParts } from '../blocks/gguf-tensors.ts';

type Json = Record<string, unknown>;

/** Modules of a layer whose norms stand elsewhere than in other decoders, Gemma 1 apart. */
const NAMES = {
  post_attention_norm: 'post_attention_layernorm',
  ffn_norm: 'pre_feedforward_layernorm',
  post_ffw_norm: 'post_feedforward_layernorm',
};
const CAPS = ['attn_logit_softcapping', 'final_logit_softcapping'];

/**
 * Layers of the 27B models. Files do not state query_pre_attn_scalar, which is the size of a head in all published models but these: 144 =
 * hidden_size 4608 / 32 heads for Gemma 2, and 168 = 5376 / 32 for Gemma 3, with heads of 128. llama.cpp knows them by their layers, too.
 */
const LAYERS_OF_27B: Readonly<Record<string, number>> = { gemma2: 46, gemma3: 62 };

function gemmaFiles(name: string, className: string, more: (model: GgufModel) => Json): GgufClass {
  return {
    name,
    classNames: [className],
    keys: {
      rope_local_base_freq: `${name}.rope.freq_base_swa`,
      sliding_window_pattern: `${name}.attention.sliding_window_pattern`,
      query_pre_attn_scalar: `${name}.attention.key_length`,
    },
    async read(model) {
      const { keys } = model;
      const theta = name === 'gemma3' ? 1e6 : 10000;
      const config = await decoderConfig(model, { reads: CAPS, theta });
      const {
        num_hidden_layers: layers,
        hidden_size: hidden,
        num_attention_heads: heads,
        head_dim: dims,
      } = config as Record<string, number>;
      const caps = CAPS.map((cap) => [cap, keys.real(`${name}.${cap}`, 0)] as const);
      return {
        className,
        config: {
          ...config,
          query_pre_attn_scalar: layers === LAYERS_OF_27B[name] ? hidden! / heads! : dims,
          ...Object.fromEntries(caps.map(([cap, value]) => [cap, value === 0 ? null : value])),
          ...more(model),
        },
      };
    },
    parts: (tensor) => decoderParts(tensor, { normsAdded: 1, names: name === 'gemma' ? {} : NAMES }),
  };
}

export const GEMMA_GGUF: readonly GgufClass[] = [
  gemmaFiles('gemma', 'GemmaForCausalLM', () => ({})),
  gemmaFiles('gemma2', 'Gemma2ForCausalLM', () => ({})),
  gemmaFiles('gemma3', 'Gemma3ForCausalLM', ({ keys }) => ({
    rope_local_base_freq: keys.real('gemma3.rope.freq_base_swa', 10000),
    ...(keys.get('gemma3.attention.sliding_window_pattern') !== undefined && {
      sliding_window_pattern: keys.count('gemma3.attention.sliding_window_pattern'),
    }),
  })),
];

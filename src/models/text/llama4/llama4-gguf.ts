// GGUF files of Llama 4. llama.cpp takes the chunks of attention, the growth of queries and their norms from the class.

import type { GgufClass } from '../../../files/gguf/model.ts';
import { decoderConfig } from '../blocks/gguf-config.ts';
import { decoderParts, headsOf, type ExpertNames } from '../blocks/gguf-tensors.ts';
import { LLAMA4 } from './llama4-config.ts';

const NAME = 'llama4';
const EXPERTS: ExpertNames = LLAMA4.experts!;
const NAMES = {
  ffn_gate: 'feed_forward.gate_proj',
  ffn_up: 'feed_forward.up_proj',
  ffn_down: 'feed_forward.down_proj',
};
/** Experts of the one model whose queries and keys are not normed. */
const MAVERICK = 128;

export const LLAMA4_GGUF: readonly GgufClass[] = [
  {
    name: NAME,
    classNames: ['Llama4ForCausalLM'],
    keys: {
      attention_chunk_size: `${NAME}.attention.chunk_size`,
      interleave_moe_layer_step: `${NAME}.interleave_moe_layer_step`,
      intermediate_size: `${NAME}.expert_feed_forward_length`,
      intermediate_size_mlp: `${NAME}.feed_forward_length`,
    },
    async read(model) {
      const { keys } = model;
      const { intermediate_size: dense, ...config } = await decoderConfig(model);
      const layers = config['num_hidden_layers'] as number;
      // A window of 0 tokens: all layers have positions and see the whole text.
      const window = `${NAME}.attention.sliding_window`;
      const isWhole = keys.get(window) !== undefined && keys.count(window, 0) === 0;
      const chunk = `${NAME}.attention.chunk_size`;
      const experts = keys.count(`${NAME}.expert_count`);
      return {
        className: 'Llama4ForCausalLM',
        config: {
          ...config,
          ...(keys.get(chunk) !== undefined && { attention_chunk_size: keys.count(chunk) }),
          ...(isWhole ? { attention_chunk_size: null, no_rope_layers: Array<number>(layers).fill(1) } : {}),
          intermediate_size: keys.count(`${NAME}.expert_feed_forward_length`),
          intermediate_size_mlp: dense,
          num_local_experts: experts,
          num_experts_per_tok: keys.count(`${NAME}.expert_used_count`),
          interleave_moe_layer_step: keys.count(`${NAME}.interleave_moe_layer_step`),
          use_qk_norm: experts !== MAVERICK,
        },
      };
    },
    parts(tensor, config) {
      return decoderParts(tensor, { fused: headsOf(config).rows, names: NAMES, experts: EXPERTS });
    },
  },
];

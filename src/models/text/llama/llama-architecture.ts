// Text architecture of Llama, Mistral, Qwen and the other classes of llama-families.ts.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { scoreHeads } from '../blocks/decoder-heads.ts';
import { delayedNorms } from './delayed-norms.ts';
import { readLlamaConfig } from './llama-config.ts';
import { FAMILIES } from './llama-families.ts';
import { LLAMA_GGUF } from './llama-gguf.ts';
import { dividedLlama } from './llama-ranks.ts';
import { llamaLayer } from './llama.ts';

export const LLAMA = decoderArchitecture({
  classes: FAMILIES,
  headless: {
    LlamaModel: { whole: 'LlamaForCausalLM' },
    MistralModel: { whole: 'MistralForCausalLM', examples: 'E5-Mistral' },
    Qwen2Model: { whole: 'Qwen2ForCausalLM', examples: 'gte-Qwen2' },
    Qwen3Model: { whole: 'Qwen3ForCausalLM', examples: 'Qwen3-Embedding' },
  },
  heads: scoreHeads({
    Llama: { whole: 'LlamaForCausalLM', examples: 'Skywork-Reward, FsfairX reward models' },
    Mistral: { whole: 'MistralForCausalLM' },
    Qwen2: { whole: 'Qwen2ForCausalLM', examples: 'mxbai-rerank v2' },
    Qwen3: { whole: 'Qwen3ForCausalLM', examples: 'Qwen3-Reranker as converted' },
  }),
  gguf: LLAMA_GGUF,
  // Qwen3-VL-MoE was published by columns, and transformers 5 saves it by rows; the other classes have a tensor for each expert.
  fusedExperts: 'shapes',
  derived: { VoxtralRealtimeTextModel: delayedNorms },
  read: readLlamaConfig,
  layer: llamaLayer,
  divide: dividedLlama,
});

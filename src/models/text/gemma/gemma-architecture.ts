// Text architecture of Gemma 1 to 3 and VaultGemma.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { scoreHeads } from '../blocks/decoder-heads.ts';
import { GEMMAS, readGemmaConfig } from './gemma-config.ts';
import { GEMMA_GGUF } from './gemma-gguf.ts';
import { sandwichLayer } from '../blocks/sandwich-norm.ts';

export const GEMMA = decoderArchitecture({
  classes: Object.entries(GEMMAS),
  headless: {
    GemmaModel: { whole: 'GemmaForCausalLM' },
    Gemma2Model: { whole: 'Gemma2ForCausalLM' },
    Gemma3TextModel: { whole: 'Gemma3ForCausalLM' },
  },
  heads: scoreHeads({
    Gemma: { whole: 'GemmaForCausalLM', examples: 'reward models of Gemma 2B' },
    Gemma2: { whole: 'Gemma2ForCausalLM', examples: 'Skywork-Reward Gemma' },
    Gemma3Text: { whole: 'Gemma3ForCausalLM' },
  }),
  gguf: GEMMA_GGUF,
  read: readGemmaConfig,
  layer: sandwichLayer,
});

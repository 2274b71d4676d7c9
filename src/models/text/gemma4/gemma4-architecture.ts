// Text architecture of Gemma 4.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { readGemma4Config } from './gemma4-config.ts';
import { GEMMA4_GGUF } from './gemma4-gguf.ts';
import { enteringColumns, gemma4Layer } from './gemma4.ts';

export const GEMMA4 = decoderArchitecture({
  classes: [
    [
      'Gemma4ForCausalLM',
      { modelType: 'gemma4_text', examples: 'text of Gemma 4 E2B, E4B, 26B-A4B and 31B' },
    ],
    ['Gemma4UnifiedForCausalLM', { modelType: 'gemma4_unified_text', examples: 'text of Gemma 4 12B' }],
  ],
  gguf: GEMMA4_GGUF,
  fusedExperts: 'rows',
  read: readGemma4Config,
  layer: gemma4Layer,
  inputs: (config, weights, name) => enteringColumns(config, weights, name),
});

// Text architecture of Gemma 3n.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { enteringColumns } from '../gemma4/gemma4.ts';
import { readGemma3nConfig } from './gemma3n-config.ts';
import { GEMMA3N_GGUF } from './gemma3n-gguf.ts';
import { gemma3nLayer, gemma3nStreams } from './gemma3n.ts';

export const GEMMA3N = decoderArchitecture({
  classes: [['Gemma3nForCausalLM', { modelType: 'gemma3n_text', examples: 'text of Gemma 3n E2B and E4B' }]],
  gguf: GEMMA3N_GGUF,
  read: readGemma3nConfig,
  layer: gemma3nLayer,
  inputs: (config, weights, name) => enteringColumns(config, weights, name),
  streams: gemma3nStreams,
});

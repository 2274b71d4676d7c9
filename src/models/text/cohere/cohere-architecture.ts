// Text architecture of Cohere 2.

import { readCohereConfig } from './cohere-config.ts';
import { COHERE_GGUF } from './cohere-gguf.ts';
import { cohereLayer } from './cohere.ts';
import { decoderArchitecture } from '../blocks/decoder-architecture.ts';

export const COHERE = decoderArchitecture({
  classes: [['Cohere2ForCausalLM', { modelType: 'cohere2', examples: 'Command R7B, Command A' }]],
  gguf: COHERE_GGUF,
  read: readCohereConfig,
  layer: cohereLayer,
});

// Text architecture of StarCoder 2.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { readStarcoderConfig } from './starcoder-config.ts';
import { STARCODER_GGUF } from './starcoder-gguf.ts';
import { plainLayer } from '../blocks/plain-layer.ts';

export const STARCODER = decoderArchitecture({
  classes: [['Starcoder2ForCausalLM', { modelType: 'starcoder2', examples: 'StarCoder2 3B to 15B' }]],
  gguf: STARCODER_GGUF,
  read: readStarcoderConfig,
  layer: plainLayer,
});

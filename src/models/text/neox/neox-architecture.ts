// Text architecture of GPT-NeoX and Pythia.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { readNeoxConfig } from './neox-config.ts';
import { NEOX_GGUF } from './neox-gguf.ts';
import { plainLayer } from '../blocks/plain-layer.ts';

export const NEOX = decoderArchitecture({
  classes: [
    ['GPTNeoXForCausalLM', { modelType: 'gpt_neox', examples: 'Pythia 14M to 12B, GPT-NeoX 20B, Dolly 2' }],
  ],
  gguf: NEOX_GGUF,
  read: readNeoxConfig,
  layer: plainLayer,
});

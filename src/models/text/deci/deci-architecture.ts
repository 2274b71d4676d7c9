// Text architecture of Nemotron's pruned Llamas.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { readDeciConfig } from './deci-config.ts';
import { DECI_GGUF } from './deci-gguf.ts';
import { deciLayer } from './deci.ts';

export const DECI = decoderArchitecture({
  classes: [
    [
      'DeciLMForCausalLM',
      {
        modelType: 'nemotron-nas',
        examples: 'Llama-3.3-Nemotron-Super-49B, Llama-3.1-Nemotron-51B and Ultra',
        needsNoCode: true,
      },
    ],
  ],
  gguf: DECI_GGUF,
  read: readDeciConfig,
  layer: deciLayer,
});

// Text architecture of GPT-NeoX and Pythia.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { readNeoxConfig } from './neox-config.ts';
import { NEOX_GGUF } from './neox-gguf.ts';
import { plainLayer } from '../blocks/plain-layer.ts';

export const NEOX = decoderArchitecture({
  classes: [
    ['GPTNeoXForCausalLM', { modelType: 'gpt_neox', examples: 'Pythia 14M to 12B, GPT-NeoX 20B, Dolly 2' }],
  ],
  heads: {
    GPTNeoXForSequenceClassification: { whole: 'GPTNeoXForCausalLM', module: 'score', bias: false },
    GPTNeoXForTokenClassification: { whole: 'GPTNeoXForCausalLM', module: 'classifier', bias: true },
    GPTNeoXRewardModel: {
      whole: 'GPTNeoXForCausalLM',
      examples: "OpenAssistant's reward models",
      module: 'out_proj',
      bias: true,
      reward: 'reward',
    },
  },
  gguf: NEOX_GGUF,
  read: readNeoxConfig,
  layer: plainLayer,
});

// Text architecture of the mixtures of mixtures-families.ts, and of their dense relatives.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { mtpBehind } from '../drafts/mtp.ts';
import { llamaLayer } from '../llama/llama.ts';
import { dividedLlama } from '../llama/llama-ranks.ts';
import { readMixtureConfig } from './mixtures-config.ts';
import { MIXTURES } from './mixtures-families.ts';
import { MIXTURE_GGUF } from './mixtures-gguf.ts';

export const MIXTURE = decoderArchitecture({
  classes: MIXTURES,
  gguf: MIXTURE_GGUF,
  // transformers 5 takes them apart when it saves; other tools leave them as they lie in memory.
  fusedExperts: 'rows',
  read: readMixtureConfig,
  layer: llamaLayer,
  mtp: (config) => (config.experts ? mtpBehind(config, llamaLayer) : null),
  divide: dividedLlama,
});

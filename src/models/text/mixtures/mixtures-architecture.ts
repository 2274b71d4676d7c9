// Text architecture of the mixtures of mixtures-families.ts, and of their dense relatives.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { readFamilyConfig } from '../llama/llama-config.ts';
import { llamaLayer } from '../llama/llama.ts';
import { dividedLlama } from '../llama/llama-ranks.ts';
import { MIXTURES } from './mixtures-families.ts';

export const MIXTURE = decoderArchitecture({
  classes: MIXTURES,
  // transformers 5 takes them apart when it saves; other tools leave them as they lie in memory.
  fusedExperts: 'rows',
  read: (json, className, file) => readFamilyConfig(json, className, MIXTURES.get(className)!, file),
  layer: llamaLayer,
  divide: dividedLlama,
});

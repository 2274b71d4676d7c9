// Text architecture of EXAONE 4.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { olmoLayer } from '../olmo/olmo.ts';
import { readExaone4Config } from './exaone4-config.ts';
import { EXAONE4_GGUF } from './exaone4-gguf.ts';

export const EXAONE4 = decoderArchitecture({
  classes: [['Exaone4ForCausalLM', { modelType: 'exaone4', examples: 'EXAONE 4.0 1.2B and 32B' }]],
  gguf: EXAONE4_GGUF,
  read: readExaone4Config,
  layer: olmoLayer,
});

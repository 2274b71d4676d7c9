// Text architecture of Cohere and Cohere 2: attention and feed-forward read one LayerNorm and are added to the residual stream together.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { plainLayer } from '../blocks/plain-layer.ts';
import { COHERES, readCohereConfig } from './cohere-config.ts';
import { COHERE_GGUF } from './cohere-gguf.ts';

export const COHERE = decoderArchitecture({
  classes: Object.entries(COHERES),
  gguf: COHERE_GGUF,
  read: readCohereConfig,
  layer: plainLayer,
});

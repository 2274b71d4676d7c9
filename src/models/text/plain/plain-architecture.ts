// Text architecture of Phi, StableLM, Apertus and the other classes of plain-families.ts.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { plainLayer } from '../blocks/plain-layer.ts';
import { readPlainConfig } from './plain-config.ts';
import { FAMILIES } from './plain-families.ts';
import { PLAIN_GGUF } from './plain-gguf.ts';

export const PLAIN = decoderArchitecture({
  classes: FAMILIES,
  gguf: PLAIN_GGUF,
  read: readPlainConfig,
  layer: plainLayer,
});

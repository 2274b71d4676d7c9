// Text architecture of OLMo 2 and OLMo 3.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { OLMOS, readOlmoConfig } from './olmo-config.ts';
import { OLMO_GGUF } from './olmo-gguf.ts';
import { olmoLayer } from './olmo.ts';

export const OLMO = decoderArchitecture({
  classes: Object.entries(OLMOS),
  gguf: OLMO_GGUF,
  read: readOlmoConfig,
  layer: olmoLayer,
});

// Text architecture of Bamba and of Granite 4's hybrids.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { BAMBAS, readBambaConfig } from './bamba-config.ts';
import { BAMBA_GGUF } from './bamba-gguf.ts';
import { bambaLayer } from './bamba.ts';

export const BAMBA = decoderArchitecture({
  classes: Object.entries(BAMBAS),
  gguf: BAMBA_GGUF,
  fusedExperts: 'rows',
  read: readBambaConfig,
  layer: bambaLayer,
});

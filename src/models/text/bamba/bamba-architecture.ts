// Text architecture of Bamba and of Granite 4's hybrids.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { BAMBAS, readBambaConfig } from './bamba-config.ts';
import { bambaLayer } from './bamba.ts';

export const BAMBA = decoderArchitecture({
  classes: Object.entries(BAMBAS),
  fusedExperts: 'rows',
  read: readBambaConfig,
  layer: bambaLayer,
});

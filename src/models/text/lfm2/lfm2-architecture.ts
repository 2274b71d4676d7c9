// Text architecture of LFM2.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { LFM2S, readLfm2Config } from './lfm2-config.ts';
import { LFM2_GGUF } from './lfm2-gguf.ts';
import { lfm2Layer } from './lfm2.ts';

export const LFM2 = decoderArchitecture({
  classes: Object.entries(LFM2S),
  gguf: LFM2_GGUF,
  read: readLfm2Config,
  layer: lfm2Layer,
});

// Text architecture of LFM2.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { readLfm2Config } from './lfm2-config.ts';
import { LFM2_GGUF } from './lfm2-gguf.ts';
import { lfm2Layer } from './lfm2.ts';

export const LFM2 = decoderArchitecture({
  classes: [['Lfm2ForCausalLM', { modelType: 'lfm2', examples: 'LFM2 350M to 2.6B' }]],
  gguf: LFM2_GGUF,
  read: readLfm2Config,
  layer: lfm2Layer,
});

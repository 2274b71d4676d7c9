// Text architecture of Falcon-H1.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { readFalconH1Config } from './falcon-h1-config.ts';
import { FALCON_H1_GGUF } from './falcon-h1-gguf.ts';
import { falconH1Layer } from './falcon-h1.ts';

export const FALCON_H1 = decoderArchitecture({
  classes: [['FalconH1ForCausalLM', { modelType: 'falcon_h1', examples: 'Falcon-H1 0.5B to 34B' }]],
  gguf: FALCON_H1_GGUF,
  read: readFalconH1Config,
  layer: falconH1Layer,
});

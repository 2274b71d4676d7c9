// Text architecture of Nemotron-H, Nemotron Nano 2 and Nemotron 3.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { readNemotronHConfig } from './nemotron-h-config.ts';
import { NEMOTRON_H_GGUF } from './nemotron-h-gguf.ts';
import { nemotronHLayer } from './nemotron-h.ts';

export const NEMOTRON_H = decoderArchitecture({
  classes: [
    [
      'NemotronHForCausalLM',
      {
        modelType: 'nemotron_h',
        examples: 'Nemotron-H, Nemotron Nano 2 9B and 12B, Nemotron 3 Nano and Super',
        needsNoCode: true,
      },
    ],
  ],
  gguf: NEMOTRON_H_GGUF,
  fusedExperts: 'rows',
  read: readNemotronHConfig,
  layer: nemotronHLayer,
});

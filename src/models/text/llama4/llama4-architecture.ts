// Text architecture of Llama 4.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { LLAMA4, readLlama4Config } from './llama4-config.ts';
import { LLAMA4_GGUF } from './llama4-gguf.ts';
import { llama4Layer } from './llama4.ts';

export const LLAMA4_TEXT = decoderArchitecture({
  classes: [['Llama4ForCausalLM', LLAMA4]],
  gguf: LLAMA4_GGUF,
  fusedExperts: 'columns',
  read: readLlama4Config,
  layer: llama4Layer,
});

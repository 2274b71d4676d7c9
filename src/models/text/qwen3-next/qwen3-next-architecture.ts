// Text architecture of Qwen3-Next, Qwen3.5 and Qwen3.6.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { mtpDeclaration } from '../drafts/mtp.ts';
import { mtpConfig, QWEN3_NEXTS, readQwen3NextConfig } from './qwen3-next-config.ts';
import { QWEN3_NEXT_GGUF } from './qwen3-next-gguf.ts';
import { qwen3NextLayer } from './qwen3-next.ts';

export const QWEN3_NEXT = decoderArchitecture({
  classes: Object.entries(QWEN3_NEXTS),
  gguf: QWEN3_NEXT_GGUF,
  fusedExperts: 'rows',
  read: readQwen3NextConfig,
  layer: qwen3NextLayer,
  mtp: (config) => mtpDeclaration(mtpConfig(config), qwen3NextLayer),
});

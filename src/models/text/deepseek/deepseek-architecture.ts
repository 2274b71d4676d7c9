// Text architecture of DeepSeek V2 to V3.2, Kimi K2, GLM-5, GLM-4.7-Flash and Youtu-LLM.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { readDeepseekConfig } from './deepseek-config.ts';
import { DEEPSEEKS } from './deepseek-families.ts';
import { DEEPSEEK_GGUF } from './deepseek-gguf.ts';
import { deepseekLayer } from './deepseek.ts';

export const DEEPSEEK = decoderArchitecture({
  classes: Object.entries(DEEPSEEKS),
  gguf: DEEPSEEK_GGUF,
  fusedExperts: 'rows',
  read: readDeepseekConfig,
  layer: deepseekLayer,
});

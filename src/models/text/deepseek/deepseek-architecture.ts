// Text architecture of DeepSeek V2 and V3, Kimi K2, GLM-4.7-Flash and Youtu-LLM.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { DEEPSEEKS, readDeepseekConfig } from './deepseek-config.ts';
import { deepseekLayer } from './deepseek.ts';

export const DEEPSEEK = decoderArchitecture({
  classes: Object.entries(DEEPSEEKS),
  fusedExperts: 'rows',
  read: readDeepseekConfig,
  layer: deepseekLayer,
});

// Text architecture of gpt-oss.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { readGptOssConfig } from './gpt-oss-config.ts';
import { GPT_OSS_GGUF } from './gpt-oss-gguf.ts';
import { gptOssLayer } from './gpt-oss.ts';

export const GPT_OSS = decoderArchitecture({
  classes: [['GptOssForCausalLM', { modelType: 'gpt_oss', examples: 'gpt-oss-20b and gpt-oss-120b' }]],
  gguf: GPT_OSS_GGUF,
  fusedExperts: 'columns',
  read: readGptOssConfig,
  layer: gptOssLayer,
});

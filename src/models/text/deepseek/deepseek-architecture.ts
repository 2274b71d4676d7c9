// Text architecture of DeepSeek V2 to V3.2, Kimi K2, GLM-5, GLM-4.7-Flash and Youtu-LLM.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { mtpBehind } from '../drafts/mtp.ts';
import { readDeepseekConfig, type DeepseekConfig } from './deepseek-config.ts';
import { DEEPSEEKS } from './deepseek-families.ts';
import { DEEPSEEK_GGUF } from './deepseek-gguf.ts';
import { deepseekLayer } from './deepseek.ts';

export const DEEPSEEK = decoderArchitecture({
  classes: Object.entries(DEEPSEEKS),
  gguf: DEEPSEEK_GGUF,
  fusedExperts: 'rows',
  read: readDeepseekConfig,
  layer: deepseekLayer,
  mtp: (config) => mtpBehind(config, deepseekLayer, indexedLayer(config)),
});

/** The layer of heads that predict several tokens ahead has an indexer of its own where the model has any. */
function indexedLayer({ indexer }: DeepseekConfig): Partial<DeepseekConfig> {
  if (indexer === null) return {};
  return { indexer: { ...indexer, own: [true] }, layers: [{ window: null, rope: 0, index: indexer.dims }] };
}

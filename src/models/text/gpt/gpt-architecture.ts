// Text architecture of GPT-2, OPT, BLOOM, Falcon and the other classes of gpt-families.ts.

import { decoderArchitecture } from '../blocks/decoder-architecture.ts';
import { plainLayer } from '../blocks/plain-layer.ts';
import { readGptConfig } from './gpt-config.ts';
import { FAMILIES } from './gpt-families.ts';
import { GPT_GGUF } from './gpt-gguf.ts';

export const GPT = decoderArchitecture({
  classes: FAMILIES,
  gguf: GPT_GGUF,
  // The matrices of GPT-2 are stored as [k, rows].
  transposed: { GPT2LMHeadModel: /\.(attn|mlp)\.c_(attn|fc|proj)\.weight$/ },
  read: readGptConfig,
  layer: plainLayer,
});

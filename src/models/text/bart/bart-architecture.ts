// Text architecture of BART and the classes of bart-config.ts.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import { storedHead } from '../../../kernels/resize-heads.ts';
import type { KvState, TextArchitecture, TextClass, TextDeclaration } from '../blocks/architecture.ts';
import { BART_FAMILIES, readBartConfig, type BartConfig, type BartHalf } from './bart-config.ts';
import { bart, BART_TIED, bartHeads } from './bart.ts';

export const BART: TextArchitecture = {
  classes: Object.entries(BART_FAMILIES).map(([name, { modelType, examples }]): TextClass => ({
    ...{ name, modelType, examples, serves: ['generate'] },
  })),
  read: (json, className, file) => declare(readBartConfig(json, className, file)),
};

function declare(config: BartConfig): TextDeclaration {
  const { architecture, vocabulary, hidden, context, encoder, decoder, tied } = config;
  const stateOf = (half: BartHalf): KvState => {
    const heads = bartHeads(config, half);
    return { kind: 'kv', kvHeads: heads.kvHeads, dims: storedHead(heads), window: null };
  };
  return {
    architecture,
    vocabulary,
    hidden,
    context: Math.ceil(context / PAGE_TOKENS) * PAGE_TOKENS + context,
    ropes: [],
    inputs: { embeddings: false, positions: 1, attention: 'causal' },
    depth: decoder.layers,
    layers: Array.from({ length: decoder.layers }, () => stateOf(decoder)),
    widest: Math.max(encoder.ffn, decoder.ffn, 3 * hidden),
    experts: null,
    tied: tied ? { ...BART_TIED, untied: declare({ ...config, tied: false }) } : null,
    generate: (weights) => bart(config, weights),
    embed: null,
    states: null,
    source: { tokens: context, written: context, layers: [stateOf(encoder)] },
  };
}

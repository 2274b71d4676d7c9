// The part of a model of llama.ts that each of several devices computes: a share of the heads and of the feed-forward block's columns.

import { unsupported } from '../../../files/error.ts';
import { option, say } from '../../../files/message.ts';
import type { LlamaConfig } from './llama-config.ts';

/** Throws unsupported for what cannot be divided. */
export function dividedLlama(config: LlamaConfig, ranks: number): LlamaConfig {
  const { architecture, heads, ffn, layers } = config;
  const refuse = (why: string): never => {
    throw unsupported(
      say`${option('tpSize')} ${ranks} does not divide ${architecture}, ${why}: use ${option('dpSize')}, or another number`,
      'tpSize',
    );
  };
  if (config.experts) refuse('which has experts');
  if (config.fusedQkv || config.fusedGateUp) refuse('whose projections are stored as one tensor');
  if (config.outBias || config.mlpBias) refuse('whose divided projections have biases');
  if (config.queryNorm === 'row') refuse('whose queries are normalized over all heads');
  if (layers.some(({ heads: own }) => own)) refuse('whose layers differ in their heads');
  const counts = {
    heads: heads.heads,
    'heads of keys and values': heads.kvHeads,
    'feed-forward columns': ffn,
  };
  for (const [name, count] of Object.entries(counts))
    if (count % ranks > 0) refuse(`which has ${count} ${name}`);
  return {
    ...config,
    heads: { ...heads, heads: heads.heads / ranks, kvHeads: heads.kvHeads / ranks },
    ffn: ffn / ranks,
  };
}

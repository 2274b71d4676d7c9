// The layer of DeepSeek V2 and V3 and of those built like them: attention over latents, of all tokens or of those that an indexer chooses, then a
// gated feed-forward block or experts, with a norm before each.

import { linearAdd } from '../../../kernels/matmul.ts';
import { normed } from '../../../kernels/normed.ts';
import type { WeightTable } from '../../weights.ts';
import type { Block } from '../blocks/decoder.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { latentAttention } from '../blocks/latent-attention.ts';
import { sameTokens, tokenIndexer, type TokenChooser } from '../blocks/token-indexer.ts';
import type { DeepseekConfig } from './deepseek-config.ts';

export function deepseekLayer(config: DeepseekConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps } = config;
  const inputNorm = weights.vector(`${name}.input_layernorm.weight`, hidden);
  const choose = chooser(config, weights, `${name}.self_attn.indexer`, i);
  const { attend, out } = latentAttention(config, weights, `${name}.self_attn`, choose);
  const postNorm = weights.vector(`${name}.post_attention_layernorm.weight`, hidden);
  const mlp = feedForward(config, weights, name, i);

  return (x, rope, batch, store) => {
    x = linearAdd(attend(normed(x, inputNorm, eps), rope, batch, store), out, x); // [rows, hidden]
    return mlp(normed(x, postNorm, eps), x, batch); //                               [rows, hidden]
  };
}

function chooser(
  { hidden, indexer, latents }: DeepseekConfig,
  weights: WeightTable,
  name: string,
  i: number,
): TokenChooser | undefined {
  if (indexer === null) return undefined;
  if (indexer.own[i]) return tokenIndexer(indexer, { hidden, rank: latents.queryRank! }, weights, name);
  weights.ignore(new RegExp(`^${name.replaceAll('.', '\\.')}\\.`));
  return sameTokens;
}

// A whole T5: an encoder, whose tokens see their whole text, and a decoder, which attends to the encoder's states. Scores have no factor, and in
// attention to tokens of the same text a bias by their distance, which all layers share (in UMT5 each has its own).

import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { attention } from '../../../kernels/attention.ts';
import { kvOf, type HeadShape, type KvPages, type TextBatch } from '../../../kernels/batch.ts';
import { constant } from '../../../kernels/constants.ts';
import { embed } from '../../../kernels/embed.ts';
import { embedTokens } from '../../../kernels/embed-tokens.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { rmsnorm, rmsnormRows } from '../../../kernels/rmsnorm.ts';
import { ropeKv } from '../../../kernels/rope-kv.ts';
import { scale } from '../../../kernels/scale.ts';
import type { WeightTable } from '../../weights.ts';
import type { LanguageModel } from '../blocks/architecture.ts';
import { crossAttention } from '../blocks/cross-attention.ts';
import { distanceBuckets, type T5LanguageConfig } from './t5-config.ts';
import { t5Feed } from './t5-feed.ts';

export const t5Heads = ({ heads, dims }: Pick<T5LanguageConfig, 'heads' | 'dims'>): HeadShape => ({
  ...{ heads, kvHeads: heads, dims, scale: 1 },
});

const EMBEDDINGS = ['shared.weight', 'encoder.embed_tokens.weight', 'decoder.embed_tokens.weight'] as const;
export const T5_TIED = { head: 'lm_head.weight', embeddings: EMBEDDINGS };
const CROSS_NAMES = { q: 'q', k: 'k', v: 'v', out: 'o' };

export function t5Language(config: T5LanguageConfig, weights: WeightTable): LanguageModel {
  const { vocabulary, hidden, eps, tied, scaled } = config;
  const stored = EMBEDDINGS.find((name) => weights.has(name)) ?? EMBEDDINGS[0];
  const embedding = weights.embedding(stored, vocabulary, hidden);
  const encoder = stack(config, weights, 'encoder', config.layers);
  const decoder = stack(config, weights, 'decoder', config.decoderLayers);
  const cross = decoder.layers.map(({ name }) => crossBlock(config, weights, `${name}.layer.1`));
  const head = tied ? embedding : weights.head(T5_TIED.head, vocabulary, hidden);
  weights.ignore(/^(shared|(en|de)coder\.embed_tokens|lm_head)\.weight$/);
  // Stored by old versions, and read by none.
  weights.ignore(/^decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight$/);

  return {
    readSources(tape, batch, own, stores) {
      let x = embed(tape, batch, embedding); //                                    [rows, hidden]
      x = encoder.run(tape, x, batch, () => kvOf(own, 0));
      const source = rmsnorm(x, encoder.norm, eps);
      cross.forEach(({ read }, i) => read(source, kvOf(stores, i)));
      return source;
    },
    states(tape, batch, stores) {
      const x = embed(tape, batch, embedding); //                                  [rows, hidden]
      return decoder.run(
        tape,
        x,
        batch,
        (i) => kvOf(stores, i),
        (y, i) => cross[i]!.attend(y, batch, kvOf(stores, i)),
      );
    },
    head(x, { wanted, states }) {
      const normed = rmsnormRows(x, decoder.norm, eps, wanted, 'sampled', states);
      return linear(scaled ? scale(normed, hidden ** -0.5) : normed, head); //     [sampled, vocabulary]
    },
  };
}

/** The layers of one half. `between`: what follows attention to the own text. */
function stack(config: T5LanguageConfig, weights: WeightTable, half: 'encoder' | 'decoder', count: number) {
  const { hidden, heads, buckets, biasOfEach } = config;
  const layers = Array.from({ length: count }, (_, i) => {
    const name = `${half}.block.${i}`;
    const own = `${name}.layer.0.SelfAttention.relative_attention_bias.weight`;
    return {
      name,
      // Its few values are never quantized.
      biases: i === 0 || biasOfEach ? weights.router(own, buckets, heads) : null,
      attend: selfAttention(config, weights, `${name}.layer.0`),
      feed: t5Feed(config, weights, `${name}.layer.${half === 'encoder' ? 1 : 2}`),
    };
  });
  const norm = weights.vector(`${half}.final_layer_norm.weight`, hidden);
  const run = (
    tape: Tape,
    x: Tensor,
    batch: TextBatch,
    storeOf: (i: number) => KvPages,
    between: (x: Tensor, i: number) => Tensor = (y) => y,
  ): Tensor => {
    const distances = distancesOn(tape, config, half === 'decoder'); // [1, 2 · farthest + 1]
    let bias: Tensor | null = null; //                                  [1, 2 · farthest + 1, heads]
    layers.forEach(({ biases, attend, feed }, i) => {
      if (biases) bias = embedTokens(tape, distances, biases, null);
      x = feed(between(attend(x, batch, storeOf(i), bias!), i));
      tape.cut();
    });
    return x;
  };
  return { layers, norm, run };
}

/** Classes of the distances up to the one from which on all share a class. */
function distancesOn(tape: Tape, { buckets, farthest }: T5LanguageConfig, causal: boolean): Tensor {
  const key = `${causal ? 'causal ' : ''}classes of distances: ${buckets}`;
  return constant(tape, key, [1, 2 * farthest + 1], () =>
    distanceBuckets({ buckets, farthest }, farthest + 1, { causal }),
  );
}

function selfAttention(config: T5LanguageConfig, weights: WeightTable, name: string) {
  const { hidden, heads, dims, eps } = config;
  const shape = t5Heads(config);
  const norm = weights.vector(`${name}.layer_norm.weight`, hidden);
  const parts = ['q', 'k', 'v'].map((part) => ({
    name: `${name}.SelfAttention.${part}.weight`,
    rows: heads * dims,
  }));
  const qkv = weights.stacked(parts, hidden);
  const out = weights.matrix(`${name}.SelfAttention.o.weight`, hidden, heads * dims);

  return (x: Tensor, batch: TextBatch, kv: KvPages, biases: Tensor): Tensor => {
    const q = ropeKv(linear(rmsnorm(x, norm, eps), qkv), null, shape, kv, null); // [rows, heads · dims]
    return linearAdd(attention(q, batch, shape, kv, { window: null, biases }), out, x);
  };
}

function crossBlock(config: T5LanguageConfig, weights: WeightTable, name: string) {
  const { hidden, eps } = config;
  const norm = weights.vector(`${name}.layer_norm.weight`, hidden);
  const shape = { hidden, heads: t5Heads(config), bias: false, names: CROSS_NAMES };
  const cross = crossAttention(shape, weights, `${name}.EncDecAttention`);
  return {
    read: cross.read,
    attend: (x: Tensor, batch: TextBatch, kv: KvPages): Tensor =>
      cross.attend(rmsnorm(x, norm, eps), x, batch, kv),
  };
}

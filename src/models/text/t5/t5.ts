// The encoder of T5: every token attends to every token, with a bias by their distance that all layers share (in UMT5 each has its own), and
// without a factor on the scores. Padding takes part like any other token, unless keys are counted.

import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { attend } from '../../../kernels/attend.ts';
import { embedTokens } from '../../../kernels/embed-tokens.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { rmsnorm } from '../../../kernels/rmsnorm.ts';
import type { WeightTable } from '../../weights.ts';
import type { T5Config } from './t5-config.ts';
import { t5Feed } from './t5-feed.ts';

export interface T5Inputs {
  /** u32 [1, tokens] */
  ids: Tensor;
  /** Classes of the distances, u32 [1, 2 · tokens − 1]; see `distanceBuckets`. */
  buckets: Tensor;
  /** u32 [1]: number of tokens, from the first on, that tokens see; left out: all. */
  keys?: Tensor;
}

/** → states behind the final norm, [1, tokens, hidden] */
export type T5Forward = (tape: Tape, inputs: T5Inputs) => Tensor;

export function t5(config: T5Config, weights: WeightTable): T5Forward {
  const { vocabulary, hidden, heads, eps, buckets, biasOfEach } = config;
  const shared = weights.has('shared.weight') ? 'shared.weight' : 'encoder.embed_tokens.weight';
  const embedding = weights.embedding(shared, vocabulary, hidden);
  weights.ignore(/^(shared|encoder\.embed_tokens)\.weight$/);
  const layers = Array.from({ length: config.layers }, (_, i) => {
    const name = `encoder.block.${i}`;
    const run = layer(config, weights, name);
    if (i > 0 && !biasOfEach) return { run, biases: null };
    // Its few values are never quantized.
    const own = `${name}.layer.0.SelfAttention.relative_attention_bias.weight`;
    return { run, biases: weights.router(own, buckets, heads) };
  });
  const norm = weights.vector('encoder.final_layer_norm.weight', hidden);

  return (tape, inputs) => {
    let x = embedTokens(tape, inputs.ids, embedding, null); //         [1, tokens, hidden]
    let bias: Tensor | null = null; //                                 [1, 2 · tokens − 1, heads]
    for (const { run, biases } of layers) {
      if (biases) bias = embedTokens(tape, inputs.buckets, biases, null);
      x = run(x, bias!, inputs.keys);
    }
    return rmsnorm(x, norm, eps);
  };
}

/** x [1, tokens, hidden] → x, changed in place */
function layer(config: T5Config, weights: WeightTable, name: string) {
  const { hidden, heads, dims, eps } = config;
  const attention = `${name}.layer.0`;
  const width = heads * dims;
  const norm = weights.vector(`${attention}.layer_norm.weight`, hidden);
  const qkv = weights.stacked(
    ['q', 'k', 'v'].map((part) => ({ name: `${attention}.SelfAttention.${part}.weight`, rows: width })),
    hidden,
    { split: 'columns' },
  );
  const out = weights.matrix(`${attention}.SelfAttention.o.weight`, hidden, width, { split: 'rows' });
  const feed = t5Feed(config, weights, `${name}.layer.1`);

  return (x: Tensor, bias: Tensor, keyCounts?: Tensor): Tensor => {
    const y = linear(rmsnorm(x, norm, eps), qkv); //                   [1, tokens, 3 · heads · dims]
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * width }));
    x = linearAdd(
      attend(q!, k!, v!, { heads, dims, scale: 1, bias, ...(keyCounts && { keyCounts }) }),
      out,
      x,
    );
    x = feed(x);
    x.tape!.cut();
    return x;
  };
}

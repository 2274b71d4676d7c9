// Attention of the tokens of clips to each other and to conditions, whose queries and keys are normalized over all heads.

import type { Tensor } from '../../../gpu/tensor.ts';
import { addRows } from '../../../kernels/add-rows.ts';
import { attend, SEGMENT_WORK, type HeadsOf } from '../../../kernels/attend.ts';
import type { TokenGrid } from '../../../kernels/attend-blocks.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { rmsnormColumns } from '../../../kernels/rmsnorm-columns.ts';
import { rotate } from '../../../kernels/rotate.ts';
import type { WeightTable } from '../../weights.ts';
import { projections } from '../projections.ts';
import type { Heads } from '../transformer-config.ts';

export interface NormedHeads extends Heads {
  /** Whether queries, keys and values have biases, and the results of attention. */
  biased: boolean;
  outBiased: boolean;
  /** Of the norms. */
  eps: number;
}

/** Attention of all tokens of a clip to each other. x [clips, tokens, hidden], rotations as `rotate` takes them → the shape of x */
export function ownAttention(of: NormedHeads, weights: WeightTable, name: string) {
  const { hidden, heads, dims, biased: bias, eps } = of;
  const qkv = projections(weights, name, 'qkv', [hidden, hidden], { bias, split: 'columns' });
  const norms = ['q', 'k'].map((part) => weights.vector(`${name}.norm_${part}.weight`, hidden));
  const out = outOf(of, weights, name);
  return (x: Tensor, rotations: Tensor, grid: TokenGrid): Tensor => {
    const y = linear(x, qkv); //                                   [1, tokens, 3 · hidden]
    const [q, k, v] = [0, 1, 2].map((part) => ({ x: y, first: part * hidden })) as [
      HeadsOf,
      HeadsOf,
      HeadsOf,
    ];
    [q, k].forEach((part, i) => {
      rmsnormColumns(y, part.first, norms[i]!, eps);
      rotate(part, rotations, { heads, dims, layout: 'interleaved' });
    });
    return linear(attend(q, k, v, { heads, dims, grid, mostWork: SEGMENT_WORK }), out);
  };
}

/** Names of the modules that make keys and values of a condition. */
export type KeyValueNames = readonly [key: string, value: string, norm: string];

/** Attention to several conditions by the same queries, [1, tokens, hidden] each; the sum of all is added to `to` in place. */
export function conditionAttention(
  of: NormedHeads,
  weights: WeightTable,
  name: string,
  parts: readonly KeyValueNames[],
) {
  const { hidden, heads, dims, biased: bias, eps } = of;
  const query = weights.matrix(`${name}.to_q.weight`, hidden, hidden, { bias, split: 'columns' });
  const queryNorm = weights.vector(`${name}.norm_q.weight`, hidden);
  const keysOf = parts.map((names) =>
    keyValues(
      of,
      weights,
      names.map((part) => `${name}.${part}`),
    ),
  );
  const out = outOf(of, weights, name);
  return (x: Tensor, conditions: readonly Tensor[], to: Tensor): void => {
    const q = { x: rmsnormColumns(linear(x, query), 0, queryNorm, eps), first: 0 };
    const seen = conditions.map((condition, i) => {
      const kv = keysOf[i]!(condition);
      return attend(
        q,
        { x: kv, first: 0 },
        { x: kv, first: hidden },
        { heads, dims, seesOwn: true, mostWork: SEGMENT_WORK },
      );
    });
    linearAdd(
      seen.reduce((sum, one) => addRows(sum, one)),
      out,
      to,
    );
  };
}

const outOf = ({ hidden, outBiased: bias }: NormedHeads, weights: WeightTable, name: string) =>
  weights.matrix(`${name}.to_out.0.weight`, hidden, hidden, { bias, split: 'rows' });

/** Keys, normalized over all heads, and values: x [1, tokens, hidden] → [1, tokens, 2 · hidden] */
function keyValues(
  { hidden, biased: bias, eps }: NormedHeads,
  weights: WeightTable,
  [key, value, norm]: readonly string[],
) {
  const both = [key, value].map((part) => ({ name: `${part}.weight`, rows: hidden }));
  const keyValue = weights.stacked(both, hidden, { bias, split: 'columns' });
  const keyNorm = weights.vector(`${norm}.weight`, hidden);
  return (x: Tensor): Tensor => rmsnormColumns(linear(x, keyValue), 0, keyNorm, eps);
}

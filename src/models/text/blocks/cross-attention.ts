// Attention of a decoder's rows to the states that an encoder has made of the sequence's source. Keys and values of these are written once, to the
// first pages of the sequence.

import type { Tensor } from '../../../gpu/tensor.ts';
import { attention } from '../../../kernels/attention.ts';
import { towardsSources, type HeadShape, type KvPages, type TextBatch } from '../../../kernels/batch.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { ropeKv, writeKv } from '../../../kernels/rope-kv.ts';
import type { WeightTable } from '../../weights.ts';

/** Names of an attention module's projections. */
interface ProjectionNames {
  q: string;
  k: string;
  v: string;
  out: string;
}

interface CrossAttention {
  hidden: number;
  /** Each query head has a key of its own. */
  heads: HeadShape;
  bias: boolean;
  names: ProjectionNames;
}

export function crossAttention(
  { hidden, heads, bias, names }: CrossAttention,
  weights: WeightTable,
  name: string,
) {
  const width = heads.heads * heads.dims;
  const query = weights.matrix(`${name}.${names.q}.weight`, width, hidden, { bias });
  const parts = [names.k, names.v].map((part) => ({ name: `${name}.${part}.weight`, rows: width }));
  const keysAndValues = weights.stacked(parts, hidden, { bias });
  const out = weights.matrix(`${name}.${names.out}.weight`, hidden, width, { bias });
  const shape: HeadShape = { ...heads, kv: 'none' };

  return {
    /** source [rows, hidden]: the encoder's states */
    read(source: Tensor, kv: KvPages): void {
      writeKv(linear(source, keysAndValues), heads, kv);
    },
    /** x [rows, hidden] → residual + the result, [rows, hidden] */
    attend(x: Tensor, residual: Tensor, batch: TextBatch, kv: KvPages): Tensor {
      const q = ropeKv(linear(x, query), null, shape, kv, null); // [rows, heads · dims]
      return linearAdd(attention(q, towardsSources(batch), heads, kv, { window: null }), out, residual);
    },
  };
}

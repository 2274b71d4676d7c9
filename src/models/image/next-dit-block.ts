// The block of transformers of the NextDiT line (Lumina 2, Z-Image): attention and a feed-forward part, each of which is normalized before and
// after, and whose output is scaled by the time step.

import type { Tensor } from '../../gpu/tensor.ts';
import { attend } from '../../kernels/attend.ts';
import type { Columns } from '../../kernels/columns.ts';
import { linear, linearSwiglu } from '../../kernels/matmul.ts';
import { rmsnormAdd } from '../../kernels/rmsnorm-add.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import { rotate } from '../../kernels/rotate.ts';
import type { WeightTable } from '../weights.ts';

const HEAD_EPS = 1e-5;

export interface NextDitShape {
  hidden: number;
  ffn: number;
  heads: number;
  /** Key heads, each of which several query heads share; left out: each query head has its own. */
  kvHeads?: number;
  /** Dimensions of a head. */
  dims: number;
  /** RMSNorm on query and key heads. */
  headNorm: boolean;
  eps: number;
  /** Columns of the time embedding. */
  timeDims: number;
}

/** Names of a block's modules. */
export interface NextDitNames {
  attention: string;
  /** Norms before and after attention, then before and after the feed-forward part. */
  norms: readonly [string, string, string, string];
  gate: string;
  up: string;
  down: string;
  /** Gives scale and gate of attention, then those of the feed-forward part; null: the block does not see the time step. */
  modulation: string | null;
}

export interface NextDitBlock {
  /** x [batch, tokens, hidden], rotations [tokens, dims], time [batch, timeDims] or null without modulation → x, changed in place */
  (x: Tensor, rotations: Tensor, time: Tensor | null): Tensor;
  /** x as attention gets it, [batch, tokens, hidden] */
  probe(x: Tensor, time: Tensor): Tensor;
}

export function nextDitBlock(shape: NextDitShape, weights: WeightTable, names: NextDitNames): NextDitBlock {
  const { hidden, eps, timeDims } = shape;
  const norms = names.norms.map((name) => weights.vector(`${name}.weight`, hidden));
  const full = { ...shape, kvHeads: shape.kvHeads ?? shape.heads };
  const [own, divided] = weights.divide(full, 'heads', 'kvHeads', 'ffn');
  const attention = selfAttention(own, divided, names.attention);
  const gateUp = divided.gateUp(`${names.gate}.weight`, `${names.up}.weight`, own.ffn, hidden);
  const down = divided.matrix(`${names.down}.weight`, hidden, own.ffn, { split: 'rows' });
  const modulate =
    names.modulation === null
      ? null
      : weights.matrix(`${names.modulation}.weight`, 4 * hidden, timeDims, { bias: true });

  const scaleOf = (m: Tensor | null, i: number) =>
    m ? { shift: null, scale: { x: m, first: i * hidden } } : undefined;
  const run = (x: Tensor, rotations: Tensor, time: Tensor | null): Tensor => {
    const m = modulate && linear(time!, modulate); //            [batch, 4 · hidden]: scale, gate, scale, gate
    const gate = (i: number): Columns | null => m && { x: m, first: i * hidden };
    const scale = (i: number) => scaleOf(m, i);
    const y = attention(rmsnorm(x, norms[0]!, eps, scale(0)), rotations);
    x = rmsnormAdd(y, norms[1]!, eps, gate(1), x);
    const z = linear(linearSwiglu(rmsnorm(x, norms[2]!, eps, scale(2)), gateUp), down);
    x = rmsnormAdd(z, norms[3]!, eps, gate(3), x);
    x.tape!.cut();
    return x;
  };
  const probe: NextDitBlock['probe'] = (x, time) =>
    rmsnorm(x, norms[0]!, eps, scaleOf(modulate && linear(time, modulate), 0));
  return Object.assign(run, { probe });
}

function selfAttention(
  { hidden, heads, kvHeads = heads, dims, headNorm }: NextDitShape,
  weights: WeightTable,
  name: string,
) {
  const counts = [heads, kvHeads, kvHeads];
  const qkv = weights.stacked(
    ['q', 'k', 'v'].map((part, i) => ({ name: `${name}.to_${part}.weight`, rows: counts[i]! * dims })),
    hidden,
    { split: 'columns' },
  );
  const norms = ['norm_q', 'norm_k'].map((part) =>
    headNorm ? { weight: weights.vector(`${name}.${part}.weight`, dims), eps: HEAD_EPS } : undefined,
  );
  const out = weights.matrix(`${name}.to_out.0.weight`, hidden, heads * dims, { split: 'rows' });

  return (x: Tensor, rotations: Tensor): Tensor => {
    const y = linear(x, qkv); //                                 [batch, tokens, (heads + 2 · kvHeads) · dims]
    const [q, k, v] = [0, heads, heads + kvHeads].map((before) => ({ x: y, first: before * dims }));
    rotate(q!, rotations, { heads, dims, layout: 'interleaved', norm: norms[0] });
    rotate(k!, rotations, { heads: kvHeads, dims, layout: 'interleaved', norm: norms[1] });
    return linear(attend(q!, k!, v!, { heads, kvHeads, dims }), out);
  };
}

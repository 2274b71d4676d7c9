// The blocks of FLUX.1, and of Chroma, whose modulation comes from outside of them.

import { attend } from '../../kernels/attend.ts';
import type { Columns } from '../../kernels/columns.ts';
import { concat } from '../../kernels/concat.ts';
import { gatedAdd } from '../../kernels/gated-add.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear } from '../../kernels/matmul.ts';
import type { WeightTable } from '../weights.ts';
import {
  doubleBlock,
  headNames,
  headProjection,
  imageNames,
  textNames,
  type JointShape,
  type MaybeTimed,
} from './joint-block.ts';

/** A block in which text and image have weights of their own; `modulated`: whether it has the modules that give its modulation. */
export function fluxDoubleBlock(shape: JointShape, weights: WeightTable, name: string, modulated: boolean) {
  return doubleBlock(shape, weights, {
    words: textNames(name, {
      ...(modulated && { modulation: 'norm1_context.linear' }),
      feedForward: 'ff_context',
    }),
    patches: imageNames(name, { ...(modulated && { modulation: 'norm1.linear' }), feedForward: 'ff' }),
  });
}

/** A block of one sequence, in which attention and feed-forward part stand side by side; modulation: shift, scale and gate. */
export function fluxSingleBlock(
  shape: JointShape,
  weights: WeightTable,
  name: string,
  modulated: boolean,
): (both: MaybeTimed, given?: Columns) => void {
  const { hidden, heads, dims, ffn, eps } = shape;
  const modulate = modulated
    ? weights.matrix(`${name}.norm.linear.weight`, 3 * hidden, hidden, { bias: true })
    : null;
  const toHeads = headProjection(shape, weights, headNames(`${name}.attn`));
  const up = weights.matrix(`${name}.proj_mlp.weight`, ffn, hidden, { bias: true, split: 'columns' });
  const width = heads * dims;
  const out = weights.matrix(`${name}.proj_out.weight`, hidden, width + ffn, {
    ...{ bias: true, split: 'rows' },
    ranges: [width, ffn],
  });

  return ({ x, time, rotations }, given) => {
    const { x: m, first } = given ?? { x: linear(time!, modulate!), first: 0 };
    const [shift, scale, gate] = [0, 1, 2].map((i) => ({ x: m, first: first + i * hidden }));
    const normed = layernorm(x, null, eps, { shift: shift!, scale: scale! });
    const y = toHeads(normed, rotations); //                        [1, tokens, 3 · heads · dims]
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * width }));
    const wide = linear(normed, up, { activation: 'gelu-tanh' }); // [1, tokens, ffn]
    const joined = concat(attend(q!, k!, v!, { heads, dims }), wide);
    gatedAdd(linear(joined, out), gate!, x);
    x.tape!.cut();
  };
}

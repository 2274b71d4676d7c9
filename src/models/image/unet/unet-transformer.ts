// Transformer blocks of UNets: the pixels as tokens, attending to each other and to the text.

import type { Tensor } from '../../../gpu/tensor.ts';
import { attend } from '../../../kernels/attend.ts';
import { groupnorm } from '../../../kernels/groupnorm.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import { linear, linearAdd, linearGeglu } from '../../../kernels/matmul.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import { affine } from '../../affine.ts';
import { projections } from '../projections.ts';
import type { ImagePrompt } from './unet-steering.ts';
import type { UNetConfig } from './unet-config.ts';
import type { WeightTable } from '../../weights.ts';

/** The input norm has its own epsilon, independent of the other norms. */
const INPUT_EPS = 1e-6;
const LAYER_EPS = 1e-5;

export interface TransformerShape {
  channels: number;
  heads: number;
  context: number;
  depth: number;
}

/** Matrices from the text to keys and values of each cross-attention, in the order of the blocks. */
export type KeyValues = Matrix[];

/** Inputs of cross-attentions: keys and values of the text, and those of an image. */
export interface Crossed {
  keyValues: readonly Tensor[];
  image: ImagePrompt | null;
}

/** x [batch, height, width, channels], text from `condition` → x, changed in place */
export function transformer(
  config: UNetConfig,
  weights: WeightTable,
  name: string,
  shape: TransformerShape,
  crossed: KeyValues,
) {
  const { channels, depth } = shape;
  const norm = affine(weights, `${name}.norm`, channels);
  const projIn = weights.conv(`${name}.proj_in.weight`, channels, channels, 1);
  const blocks = Array.from({ length: depth }, (_, i) =>
    block(weights, `${name}.transformer_blocks.${i}`, shape, crossed),
  );
  const projOut = weights.conv(`${name}.proj_out.weight`, channels, channels, 1);

  return (x: Tensor, given: Crossed): Tensor => {
    let y = linear(groupnorm(x, norm, { groups: config.groups, eps: INPUT_EPS }), projIn);
    for (const each of blocks) y = each(y, given);
    return linearAdd(y, projOut, x); //                          [batch, height, width, channels]
  };
}

function block(weights: WeightTable, name: string, shape: TransformerShape, crossed: KeyValues) {
  const { channels } = shape;
  const norms = [1, 2, 3].map((i) => affine(weights, `${name}.norm${i}`, channels));
  const attendSelf = selfAttention(weights, `${name}.attn1`, shape);
  const attendText = crossAttention(weights, `${name}.attn2`, shape, crossed);
  const feed = feedForward(weights, `${name}.ff`, channels);

  return (x: Tensor, given: Crossed): Tensor => {
    x = attendSelf(layernorm(x, norms[0]!, LAYER_EPS), x);
    x = attendText(layernorm(x, norms[1]!, LAYER_EPS), x, given);
    return feed(layernorm(x, norms[2]!, LAYER_EPS), x);
  };
}

function selfAttention(weights: WeightTable, name: string, { channels, heads: all }: TransformerShape) {
  const dims = channels / all;
  const [own, divided] = weights.divide({ heads: all }, 'heads');
  const { heads } = own;
  const width = heads * dims;
  const qkv = projections(divided, name, 'qkv', [width, channels]);
  const out = divided.matrix(`${name}.to_out.0.weight`, channels, width, { bias: true, split: 'rows' });

  return (x: Tensor, residual: Tensor): Tensor => {
    const y = linear(x, qkv); //                                 [batch, rows, columns, 3 · width]
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * width }));
    return linearAdd(attend(q!, k!, v!, { heads, dims }), out, residual);
  };
}

function crossAttention(
  weights: WeightTable,
  name: string,
  { channels, heads, context }: TransformerShape,
  crossed: KeyValues,
) {
  const dims = channels / heads;
  const query = weights.matrix(`${name}.to_q.weight`, channels, channels, { split: 'columns' });
  const index = crossed.push(projections(weights, name, 'kv', [channels, context])) - 1;
  const out = weights.matrix(`${name}.to_out.0.weight`, channels, channels, { bias: true, split: 'rows' });

  return (x: Tensor, residual: Tensor, { keyValues, image }: Crossed): Tensor => {
    const q = { x: linear(x, query), first: 0 }; //              [batch, height, width, channels]
    const attendTo = (all: readonly Tensor[]): Tensor => {
      const [k, v] = [0, 1].map((i) => ({ x: all[index]!, first: i * channels }));
      return attend(q, k!, v!, { heads, dims });
    };
    const y = attendTo(keyValues);
    const seen = image && linearCombination([y, attendTo(image.keyValues)], image.scales, image.notFinite);
    return linearAdd(seen ?? y, out, residual);
  };
}

function feedForward(weights: WeightTable, name: string, channels: number) {
  const [{ ffn }, divided] = weights.divide({ ffn: 4 * channels }, 'ffn');
  const gate = divided.halves(`${name}.net.0.proj.weight`, ffn, channels, { bias: true });
  const down = divided.matrix(`${name}.net.2.weight`, channels, ffn, { bias: true, split: 'rows' });

  return (x: Tensor, residual: Tensor): Tensor => linearAdd(linearGeglu(x, gate), down, residual);
}

// MobileNet V5, the encoder of Gemma 3n's images, of NHWC images: stages of convolutions and of attention, each of which halves the image; what the last two
// give is fused, and averaged over squares of pixels.

import type { Tensor } from '../../../gpu/tensor.ts';
import { activation } from '../../../kernels/activation.ts';
import { attend, SEGMENT_WORK } from '../../../kernels/attend.ts';
import { concat } from '../../../kernels/concat.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import { depthwise } from '../../../kernels/depthwise.ts';
import { gatedAdd } from '../../../kernels/gated-add.ts';
import { groupMeans } from '../../../kernels/group-means.ts';
import { linear } from '../../../kernels/matmul.ts';
import { mixRows } from '../../../kernels/mix-rows.ts';
import { multiply } from '../../../kernels/multiply.ts';
import { reshape } from '../../../kernels/reshape.ts';
import { rmsnorm } from '../../../kernels/rmsnorm.ts';
import { rmsnormAdd } from '../../../kernels/rmsnorm-add.ts';
import type { WeightTable } from '../../weights.ts';
import type {
  AttentionBlock,
  EdgeBlock,
  InvertedBlock,
  MobileNetBlock,
  MobileNetV5Config,
} from './mobilenet-v5-config.ts';

/** Of timm's RMSNorm of pixels. */
const EPS = 1e-6;

/** The pixels of each square that is averaged, square by square: u32 and f32 [1, pixels, 1]. */
export interface SquareOrder {
  /** Those of the last stage but one, and of the last stage, whose pixels stand for four each. */
  large: Tensor;
  small: Tensor;
  ones: Tensor;
}

type Block = (x: Tensor) => Tensor;

/** `name`: prefix of the tensors, which ends with a dot. pixels [1, height, width, 3] → [1, across², columns] */
export function mobileNetV5(config: MobileNetV5Config, weights: WeightTable, name: string) {
  const { stem, stages } = config;
  const first = weights.conv(`${name}conv_stem.conv.weight`, stem, 3, 3, { stride: 2 });
  const firstNorm = weights.vector(`${name}conv_stem.bn.weight`, stem);
  let from = stem;
  const blocks = stages.map((stage, i) =>
    stage.map((one, j): Block => {
      const run = block(one, weights, `${name}blocks.${i}.${j}.`, from);
      from = one.columns;
      return run;
    }),
  );
  const fuse = fusion(config, weights, `${name}msfa.`);

  return (pixels: Tensor, order: SquareOrder): Tensor => {
    const stemmed = rmsnorm(conv2d(pixels, first, { stride: 2, padding: 'after' }), firstNorm, EPS);
    let x = activation(stemmed, 'gelu-tanh');
    const given: Tensor[] = [];
    for (const stage of blocks) {
      for (const run of stage) {
        x = run(x);
        x.tape!.cut();
      }
      given.push(x);
    }
    return fuse(given.slice(-2) as [Tensor, Tensor], order);
  };
}

function block(of: MobileNetBlock, weights: WeightTable, name: string, from: number): Block {
  if (of.kind === 'edge') return edge(of, weights, name, from);
  return of.kind === 'inverted' ? inverted(of, weights, name, from) : attention(of, weights, name);
}

/** x + norm(product(gelu(norm(conv(x))))) */
function edge(
  { columns, stride, inner }: EdgeBlock,
  weights: WeightTable,
  name: string,
  from: number,
): Block {
  const conv = weights.conv(`${name}conv_exp.weight`, inner, from, 3, { bias: false, stride });
  const norm = weights.vector(`${name}bn1.weight`, inner);
  const down = weights.matrix(`${name}conv_pwl.weight`, columns, inner);
  const behind = weights.vector(`${name}bn2.weight`, columns);
  const adds = stride === 1 && from === columns;
  return (x) => {
    const wide = conv2d(x, conv, { stride, padding: stride === 1 ? 'same' : 'after' });
    const y = linear(activation(rmsnorm(wide, norm, EPS), 'gelu-tanh'), down);
    return adds ? rmsnormAdd(y, behind, EPS, null, x) : rmsnorm(y, behind, EPS);
  };
}

/** x + scale · norm(product(convolve(gelu(norm(product(convolve(x))))))), where convolutions are optional and end with norms. */
function inverted(of: InvertedBlock, weights: WeightTable, name: string, from: number): Block {
  const { columns, stride, inner, kernels } = of;
  const adds = stride === 1 && from === columns;
  const start =
    kernels.before === 0
      ? null
      : channelConv(weights, `${name}dw_start.`, from, kernels.before, kernels.between === 0 ? stride : 1);
  const wider = normedProduct(weights, `${name}pw_exp.`, inner, from);
  const middle =
    kernels.between === 0 ? null : channelConv(weights, `${name}dw_mid.`, inner, kernels.between, stride);
  const down = weights.matrix(`${name}pw_proj.conv.weight`, columns, inner);
  const behind = weights.vector(`${name}pw_proj.bn.weight`, columns);
  const scale = weights.vector(`${name}layer_scale.gamma`, columns);
  return (x) => {
    const wide = activation(wider(start ? start(x) : x), 'gelu-tanh');
    const y = linear(middle ? activation(middle(wide), 'gelu-tanh') : wide, down);
    const gain = multiply(
      reshape(behind.on(x.tape!), [1, columns]),
      reshape(scale.on(x.tape!), [1, columns]),
      columns,
    );
    return adds ? rmsnormAdd(y, gain, EPS, null, x) : rmsnorm(y, gain, EPS);
  };
}

/** norm(conv(x)), with a kernel for each channel */
function channelConv(
  weights: WeightTable,
  name: string,
  columns: number,
  side: number,
  stride: 1 | 2,
): Block {
  const kernels = weights.kernels(`${name}conv.weight`, columns, side);
  const norm = weights.vector(`${name}bn.weight`, columns);
  return (x) => rmsnorm(depthwise(x, kernels, { stride }), norm, EPS);
}

function normedProduct(weights: WeightTable, name: string, columns: number, from: number): Block {
  const product = weights.matrix(`${name}conv.weight`, columns, from);
  const norm = weights.vector(`${name}bn.weight`, columns);
  return (x) => rmsnorm(linear(x, product), norm, EPS);
}

/** x + scale · product(attend(norm(x))) */
function attention(of: AttentionBlock, weights: WeightTable, name: string): Block {
  const { columns, heads, dims, halved } = of;
  const norm = weights.vector(`${name}norm.weight`, columns);
  const query = weights.matrix(`${name}attn.query.proj.weight`, heads * dims, columns);
  const [key, value] = (['key', 'value'] as const).map((part) => {
    const root = `${name}attn.${part}.`;
    const product = weights.matrix(`${root}proj.weight`, dims, columns);
    if (halved === null) return (x: Tensor): Tensor => linear(x, product);
    const kernels = weights.kernels(`${root}down_conv.weight`, columns, halved);
    const own = weights.vector(`${root}norm.weight`, columns);
    return (x: Tensor): Tensor => linear(rmsnorm(depthwise(x, kernels, { stride: 2 }), own, EPS), product);
  });
  const out = weights.matrix(`${name}attn.output.proj.weight`, columns, heads * dims);
  const scale = weights.vector(`${name}layer_scale.gamma`, columns);
  return (x) => {
    const y = rmsnorm(x, norm, EPS);
    const [q, k, v] = [linear(y, query), key!(y), value!(y)].map((rows) => ({ x: rows, first: 0 }));
    const seen = attend(q!, k!, v!, { heads, kvHeads: 1, dims, mostWork: SEGMENT_WORK });
    return gatedAdd(linear(seen, out), reshape(scale.on(x.tape!), [1, columns]), x);
  };
}

/** What both stages give, pixel by pixel, passes two products; the result is averaged. */
function fusion({ stages, across, columns }: MobileNetV5Config, weights: WeightTable, name: string) {
  const from = stages.slice(-2).reduce((sum, stage) => sum + stage.at(-1)!.columns, 0);
  const inner = 2 * from;
  const wider = normedProduct(weights, `${name}ffn.pw_exp.`, inner, from);
  const narrower = normedProduct(weights, `${name}ffn.pw_proj.`, columns, inner);
  const norm = weights.vector(`${name}norm.weight`, columns);

  return ([large, small]: [Tensor, Tensor], order: SquareOrder): Tensor => {
    const [high, low] = [mixRows(large, order.large, order.ones), mixRows(small, order.small, order.ones)];
    const fused = narrower(activation(wider(concat(high, low)), 'gelu-tanh')); // [1, pixels, columns]
    const rows = fused.rows({}) / across ** 2;
    return rmsnorm(groupMeans({ x: fused, first: 0 }, { columns, rows }), norm, EPS);
  };
}

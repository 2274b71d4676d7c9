// Layers of Phi-4-multimodal's encoder of sounds: two feed-forward blocks of half weight around attention with a bias by distance and a convolution
// that sees no later row.

import type { Tensor } from '../../gpu/tensor.ts';
import { attend } from '../../kernels/attend.ts';
import { gluConv } from '../../kernels/glu-conv.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear, linearAdd, linearValueSilu } from '../../kernels/matmul.ts';
import { scaledAdd } from '../../kernels/scaled-add.ts';
import { affine } from '../affine.ts';
import type { WeightTable } from '../weights.ts';
import type { Phi4AudioConfig } from './phi4-audio-config.ts';

/** Of all norms. */
const EPS = 1e-5;

/** x [windows, rows, hidden], bias [1, 2 · rows − 1, heads] → [windows, rows, hidden] */
export function phi4ConformerLayer(config: Phi4AudioConfig, weights: WeightTable, name: string) {
  const { hidden } = config;
  const first = feedForward(config, weights, `${name}.feed_forward_in`);
  const attentionNorm = affine(weights, `${name}.layer_norm_att`, hidden);
  const attention = selfAttention(config, weights, `${name}.self_attn`);
  const convolve = convolution(config, weights, `${name}.conv`);
  const second = feedForward(config, weights, `${name}.feed_forward_out`);
  const last = affine(weights, `${name}.layer_norm`, hidden);

  return (x: Tensor, bias: Tensor): Tensor => {
    x = first(x);
    x = attention(layernorm(x, attentionNorm, EPS), bias, x);
    x = convolve(x);
    x = layernorm(second(x), last, EPS);
    x.tape!.cut();
    return x;
  };
}

/** x + ½ · down(value · silu(gate)) of norm(x) */
function feedForward({ hidden, ffn, names }: Phi4AudioConfig, weights: WeightTable, name: string) {
  const norm = affine(weights, `${name}.layer_norm`, hidden);
  const gateUp = weights.halves(`${name}.${names.gateUp}.weight`, ffn, hidden, { bias: true });
  const down = weights.matrix(`${name}.${names.down}.weight`, hidden, ffn, { bias: true });
  return (x: Tensor): Tensor =>
    scaledAdd(linear(linearValueSilu(layernorm(x, norm, EPS), gateUp), down), 0.5, x);
}

function selfAttention({ hidden, heads, names }: Phi4AudioConfig, weights: WeightTable, name: string) {
  const dims = hidden / heads;
  const qkv = weights.stacked(
    names.projections.map((part) => ({ name: `${name}.${part}.weight`, rows: hidden })),
    hidden,
    { bias: true },
  );
  const out = weights.matrix(`${name}.${names.out}.weight`, hidden, hidden, { bias: true });
  return (x: Tensor, bias: Tensor, residual: Tensor): Tensor => {
    const y = linear(x, qkv); // [windows, rows, 3 · hidden]
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * hidden }));
    return linearAdd(attend(q!, k!, v!, { heads, dims, bias }), out, residual);
  };
}

/** x + linear(silu(linear(conv(value · silu(gate))))) of norm(x) */
function convolution({ hidden, taps }: Phi4AudioConfig, weights: WeightTable, name: string) {
  const norm = affine(weights, `${name}.layer_norm`, hidden);
  const stored = [hidden, 1];
  const start = weights.matrix(`${name}.glu.ext_pw_conv_1d.weight`, 2 * hidden, hidden, {
    bias: true,
    stored,
  });
  const depth = `${name}.dw_sep_conv_1d.`;
  const biases = {
    value: weights.vector(`${name}.glu.b1`, hidden),
    gate: weights.vector(`${name}.glu.b2`, hidden),
    out: weights.vector(`${depth}dw_conv.bias`, hidden),
  };
  const kernels = weights.table(`${depth}dw_conv.weight`, hidden, taps, [1, taps]);
  const mix = weights.matrix(`${depth}pw_conv.weight`, hidden, hidden, { bias: true, stored });
  const end = weights.matrix(`${name}.ext_pw_conv_1d.weight`, hidden, hidden, { bias: true, stored });
  return (x: Tensor): Tensor => {
    const y = gluConv(linear(layernorm(x, norm, EPS), start), kernels.on(x.tape!), biases);
    return linearAdd(linear(y, mix, { activation: 'silu' }), end, x);
  };
}

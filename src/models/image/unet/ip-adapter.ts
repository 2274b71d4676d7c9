// IP-Adapter: tokens that stand for an image, and matrices from them to the keys and values of each cross-attention of a UNet. The UNet
// attends to them beside the text.

import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { attend } from '../../../kernels/attend.ts';
import { joinRows, joinTokens } from '../../../kernels/copy-rows.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { reshape } from '../../../kernels/reshape.ts';
import { affine } from '../../affine.ts';
import type { WeightTable } from '../../weights.ts';
import { RESAMPLER_HEAD, type IPAdapterConfig } from './ip-adapter-config.ts';
import type { UNetConfig, UNetLevel } from './unet-config.ts';

const EPS = 1e-5;
const ROOT = 'image_proj';

export interface IPAdapter {
  /** What the image encoder gives, [batch, n, imageColumns] → [batch, tokens, context] */
  tokens(tape: Tape, encoded: Tensor): Tensor;
  /** Tokens → keys and values of each cross-attention, [batch, tokens, 2 · channels] */
  keyValues(tokens: Tensor): Tensor[];
}

export function ipAdapter(config: IPAdapterConfig, unet: UNetConfig, weights: WeightTable): IPAdapter {
  const tokens = config.resampler
    ? resampler(config, config.resampler, weights)
    : projection(config, weights);
  const matrices = crossings(unet).map(({ id, channels }) => {
    const parts = ['k', 'v'].map((part) => ({
      name: `ip_adapter.${id}.to_${part}_ip.weight`,
      rows: channels,
    }));
    return weights.stacked(parts, config.context);
  });
  return { tokens, keyValues: (x) => matrices.map((matrix) => linear(x, matrix)) };
}

/** Cross-attentions in the order of the UNet's page, with the numbers that files give them: down, up, and the middle last. */
function crossings({ down, mid, up }: UNetConfig): { id: number; channels: number }[] {
  const channelsOf = ({ channels, attention }: UNetLevel): number[] =>
    (attention?.depths ?? []).flatMap((depth) => Array.from({ length: depth }, () => channels));
  const [before, middle, after] = [down, mid ? [mid] : [], up].map((levels) => levels.flatMap(channelsOf));
  const numbered = (first: number, channels: readonly number[]) =>
    channels.map((own, i) => ({ id: 2 * (first + i) + 1, channels: own }));
  return [
    ...numbered(0, before!),
    ...numbered(before!.length + after!.length, middle!),
    ...numbered(before!.length, after!),
  ];
}

type TokensOf = (tape: Tape, encoded: Tensor) => Tensor;

/** Tokens from the embedding of an image, [batch, 1, imageColumns]. */
function projection({ imageColumns, context, tokens }: IPAdapterConfig, weights: WeightTable): TokensOf {
  const proj = weights.matrix(`${ROOT}.proj.weight`, tokens * context, imageColumns, { bias: true });
  const norm = affine(weights, `${ROOT}.norm`, context);
  return (_, encoded) => {
    const batch = encoded.shape[0] as number;
    return layernorm(reshape(linear(encoded, proj), [batch, tokens, context]), norm, EPS);
  };
}

/** Tokens that learned queries gather from the states of an image, [batch, n, imageColumns]. */
function resampler(
  { imageColumns, context, tokens }: IPAdapterConfig,
  { width, heads, layers: count, ffn }: NonNullable<IPAdapterConfig['resampler']>,
  weights: WeightTable,
): TokensOf {
  const queries = weights.table(`${ROOT}.latents`, tokens, width);
  const projIn = weights.matrix(`${ROOT}.proj_in.weight`, width, imageColumns, { bias: true });
  const layers = Array.from({ length: count }, (_, i) =>
    resamplerLayer(weights, `${ROOT}.layers.${i}`, { width, heads, ffn }),
  );
  const projOut = weights.matrix(`${ROOT}.proj_out.weight`, context, width, { bias: true });
  const norm = affine(weights, `${ROOT}.norm_out`, context);

  return (tape, encoded) => {
    const batch = encoded.shape[0] as number;
    const states = linear(encoded, projIn); //                   [batch, n, width]
    const rows = queries.on(tape);
    const all = Array.from({ length: batch }, () => rows);
    let x = joinRows(all, [batch, tokens]); //                   [batch, tokens, width]
    for (const run of layers) x = run(x, states);
    return layernorm(linear(x, projOut), norm, EPS);
  };
}

function resamplerLayer(
  weights: WeightTable,
  name: string,
  { width, heads, ffn }: { width: number; heads: number; ffn: number },
) {
  const inner = heads * RESAMPLER_HEAD;
  const [ofStates, ofQueries] = [1, 2].map((i) => affine(weights, `${name}.0.norm${i}`, width));
  const query = weights.matrix(`${name}.0.to_q.weight`, inner, width);
  const keyValue = weights.matrix(`${name}.0.to_kv.weight`, 2 * inner, width);
  const out = weights.matrix(`${name}.0.to_out.weight`, width, inner);
  const norm = affine(weights, `${name}.1.0`, width);
  const up = weights.matrix(`${name}.1.1.weight`, ffn, width);
  const down = weights.matrix(`${name}.1.3.weight`, width, ffn);

  return (x: Tensor, states: Tensor): Tensor => {
    const own = layernorm(x, ofQueries!, EPS);
    const seen = linear(joinTokens(layernorm(states, ofStates!, EPS), own), keyValue);
    const [k, v] = [0, 1].map((i) => ({ x: seen, first: i * inner }));
    const gathered = attend({ x: linear(own, query), first: 0 }, k!, v!, { heads, dims: RESAMPLER_HEAD });
    const y = linearAdd(gathered, out, x); //                    [batch, tokens, width]
    return linearAdd(linear(layernorm(y, norm, EPS), up, { activation: 'gelu' }), down, y);
  };
}

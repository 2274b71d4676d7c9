// The text encoder of CLIP: a causal transformer over the tokens of one text, run only up to the requested depth.

import type { Tensor } from '../../../gpu/tensor.ts';
import type { Activation } from '../../../kernels/activation.ts';
import type { Tape } from '../../../gpu/tape.ts';
import { attend, SEGMENT_WORK } from '../../../kernels/attend.ts';
import { copy } from '../../../kernels/copy-rows.ts';
import { embedExtra } from '../../../kernels/embed-extra.ts';
import { embedTokens } from '../../../kernels/embed-tokens.ts';
import { layernorm, layernormRows } from '../../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { rotate, type Rotation } from '../../../kernels/rotate.ts';
import { affine } from '../../affine.ts';
import type { ClipConfig } from './clip-config.ts';
import type { WeightTable } from '../../weights.ts';

export interface ClipInputs {
  /** u32 [batch, tokens] */
  ids: Tensor;
  /** Row, counted over the whole batch, of the token that pools each text: u32 [batch]. Left out: nothing is pooled. */
  ends?: Tensor;
  /** Rows of words that the checkpoint does not have, [rows, hidden]; left out: there are none. */
  extra?: Tensor;
}

export interface ClipStates {
  /** Number of layers to run. */
  depth: number;
  /** Whether the states pass the final norm. */
  normed: boolean;
}

export interface ClipOutputs {
  /** [batch, tokens, hidden] */
  states: Tensor;
  /** [batch, projection], or [batch, hidden] for a model without projection. */
  pooled: Tensor | null;
}

export type ClipForward = (tape: Tape, inputs: ClipInputs, wanted: ClipStates) => ClipOutputs;

export function clip(config: ClipConfig, weights: WeightTable): ClipForward {
  const { vocabulary, positions, hidden, eps, projection } = config;
  // Some libraries save the text model without the prefix.
  const name = weights.has('embeddings.token_embedding.weight') ? '' : 'text_model.';
  const embedding = weights.embedding(`${name}embeddings.token_embedding.weight`, vocabulary, hidden);
  const places = weights.table(`${name}embeddings.position_embedding.weight`, positions, hidden);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    clipLayer(config, weights, `${name}encoder.layers.${i}`, { causal: true }),
  );
  const norm = affine(weights, `${name}final_layer_norm`, hidden);
  const project = projection === null ? null : weights.matrix('text_projection.weight', projection, hidden);
  weights.ignore(/embeddings\.position_ids$/);

  return (tape, { ids, ends, extra }, { depth, normed }) => {
    let x = embedTokens(tape, ids, embedding, { positions: places }); // [batch, tokens, hidden]
    if (extra) embedExtra(x, ids, extra, places);
    for (const run of layers.slice(0, depth)) x = run(x);
    const states = normed ? layernorm(x, norm, eps) : ends && depth < layers.length ? copy(x) : x;
    if (!ends) return { states, pooled: null };
    for (const run of layers.slice(depth)) x = run(x);
    const pooled = layernormRows(x, norm, eps, ends, ends.columns); //         [batch, hidden]
    return { states, pooled: project ? linear(pooled, project) : pooled };
  };
}

/** Sizes of a layer, which CLIP's encoders of texts and of images share. */
type ClipLayer = Pick<ClipConfig, 'hidden' | 'heads' | 'ffn' | 'eps'> & { activation: Activation };

interface ClipLayerOptions {
  /** Whether a token sees only those before it. */
  causal: boolean;
  /** Dimensions that turn together; left out: those of both halves. */
  layout?: Rotation['layout'];
  /** Modules of the norms and of attention's output; left out: CLIP's. */
  names?: Readonly<Record<'before' | 'between' | 'out', string>>;
}

const NAMES = { before: 'layer_norm1', between: 'layer_norm2', out: 'out_proj' };

/**
 * x [batch, tokens, hidden] → x, changed in place; `rotations` [tokens, dims] turn queries and keys; `keyCounts` u32 [batch]: tokens of each item
 * that are seen, left out: all.
 */
export function clipLayer(
  config: ClipLayer,
  weights: WeightTable,
  name: string,
  { causal, layout = 'halves', names = NAMES }: ClipLayerOptions,
) {
  const { hidden, eps } = config;
  const norm1 = affine(weights, `${name}.${names.before}`, hidden);
  const attention = selfAttention(config, weights, `${name}.self_attn`, { causal, layout, out: names.out });
  const norm2 = affine(weights, `${name}.${names.between}`, hidden);
  const feed = mlp(config, weights, `${name}.mlp`);

  return (x: Tensor, rotations?: Tensor, keyCounts?: Tensor): Tensor => {
    x = attention(layernorm(x, norm1, eps), x, rotations, keyCounts);
    x = feed(layernorm(x, norm2, eps), x);
    x.tape!.cut();
    return x;
  };
}

function selfAttention(
  { hidden, heads }: ClipLayer,
  weights: WeightTable,
  name: string,
  { causal, layout, out: outName }: { causal: boolean; layout: Rotation['layout']; out: string },
) {
  const dims = hidden / heads;
  const options = { bias: true, split: 'columns' } as const;
  // DeepSeek-OCR has the three as one tensor.
  const qkv = weights.has(`${name}.qkv_proj.weight`)
    ? weights.matrix(`${name}.qkv_proj.weight`, 3 * hidden, hidden, {
        ...options,
        ranges: [hidden, hidden, hidden],
      })
    : weights.stacked(
        ['q', 'k', 'v'].map((part) => ({ name: `${name}.${part}_proj.weight`, rows: hidden })),
        hidden,
        options,
      );
  const out = weights.matrix(`${name}.${outName}.weight`, hidden, hidden, { bias: true, split: 'rows' });

  return (x: Tensor, residual: Tensor, rotations?: Tensor, keyCounts?: Tensor): Tensor => {
    const y = linear(x, qkv); //                                 [batch, tokens, 3 · hidden]
    if (rotations)
      for (const i of [0, 1]) rotate({ x: y, first: i * hidden }, rotations, { heads, dims, layout });
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * hidden }));
    // Encoders with rotary positions see images of many patches, so attention is cut into segments.
    const limit = rotations && { mostWork: SEGMENT_WORK };
    const seen = keyCounts && { keyCounts };
    return linearAdd(attend(q!, k!, v!, { heads, dims, causal, ...limit, ...seen }), out, residual);
  };
}

function mlp({ hidden, ffn, activation }: ClipLayer, weights: WeightTable, name: string) {
  const up = weights.matrix(`${name}.fc1.weight`, ffn, hidden, { bias: true, split: 'columns' });
  const down = weights.matrix(`${name}.fc2.weight`, hidden, ffn, { bias: true, split: 'rows' });
  return (x: Tensor, residual: Tensor): Tensor => linearAdd(linear(x, up, { activation }), down, residual);
}

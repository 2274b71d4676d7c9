// The encoder of DeBERTa v2 and v3: BERT's layers, whose attention knows the distance of two tokens in place of positions. Its learned places are
// projected in each layer like tokens.

import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import { takeRows } from '../../../kernels/copy-rows.ts';
import { distanceAttend, placesWithin } from '../../../kernels/distance-attend.ts';
import { embed } from '../../../kernels/embed.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear } from '../../../kernels/matmul.ts';
import { scaledAdd } from '../../../kernels/scaled-add.ts';
import { unfoldRows } from '../../../kernels/unfold-rows.ts';
import { affine } from '../../affine.ts';
import type { WeightTable } from '../../weights.ts';
import { BERT_NAMES, bertLayer } from '../bert/bert.ts';
import type { TextForward } from '../blocks/architecture.ts';
import type { Convolution, DebertaConfig } from './deberta-config.ts';

/** The learned places of the distances that texts of a tape have, [count, hidden]. */
interface Places {
  rows: Tensor;
  /** Number of the first of them. */
  first: number;
}

/** Normalized states of all rows, [rows, hidden]. */
export function deberta(config: DebertaConfig, weights: WeightTable): TextForward {
  const { vocabulary, hidden, eps, layers: depth } = config;
  const root = weights.has('embeddings.word_embeddings.weight') ? '' : 'deberta.';
  const embedding = weights.embedding(`${root}embeddings.word_embeddings.weight`, vocabulary, hidden);
  const norm = affine(weights, `${root}embeddings.LayerNorm`, hidden);
  const placesOf = learnedPlaces(config, weights, `${root}encoder`);
  const layers = Array.from({ length: depth }, (_, i) => {
    const name = `${root}encoder.layer.${i}`;
    const layer = bertLayer(config, weights, name, BERT_NAMES, selfAttention(config, weights, name));
    const { convolution } = config;
    return i === 0 && convolution
      ? withConvolution(config, convolution, weights, `${root}encoder.conv`, layer)
      : layer;
  });
  weights.ignore(/embeddings\.position_(ids|embeddings\.weight)$|^(cls|lm_predictions|mask_predictions)\./);

  return (tape, batch) => {
    const places = placesOf(tape);
    let x = layernorm(embed(tape, batch, embedding), norm, eps); // [rows, hidden]
    for (const run of layers) x = run(x, batch, places);
    return x;
  };
}

type Layer = (x: Tensor, batch: TextBatch, places: Places) => Tensor;

/** A layer with a convolution of what it reads beside it; a norm follows their sum. */
function withConvolution(
  { hidden, eps }: DebertaConfig,
  { taps, activation }: Convolution,
  weights: WeightTable,
  name: string,
  layer: Layer,
): Layer {
  const stored = [hidden, taps];
  const kernel = weights.matrix(`${name}.conv.weight`, hidden, hidden * taps, { bias: true, stored });
  const norm = affine(weights, `${name}.LayerNorm`, hidden);
  return (x, batch, places) => {
    // Layers write into what they read.
    const beside = linear(unfoldRows(x, batch, taps), kernel, { activation }); // [rows, hidden]
    return layernorm(scaledAdd(beside, 1, layer(x, batch, places)), norm, eps);
  };
}

function learnedPlaces(
  { hidden, eps, places, placesNorm }: DebertaConfig,
  weights: WeightTable,
  name: string,
): (tape: Tape) => Places {
  const table = weights.table(`${name}.rel_embeddings.weight`, 2 * places.span, hidden);
  const norm = placesNorm ? affine(weights, `${name}.LayerNorm`, hidden) : null;
  return (tape) => {
    const { first, count } = placesWithin(places, tape.capacity['rows']!);
    const rows = takeRows(table.on(tape), first, [count]); //        [count, hidden]
    return { rows: norm ? layernorm(rows, norm, eps) : rows, first };
  };
}

function selfAttention({ hidden, heads, shared, places }: DebertaConfig, weights: WeightTable, name: string) {
  const dims = hidden / heads;
  // Contents, and their distances in both directions, each have a part of the score.
  const shape = { heads, dims, scale: 1 / Math.sqrt(3 * dims), places };
  const projections = (names: readonly string[]) =>
    weights.stacked(
      names.map((part) => ({ name: `${name}.attention.self.${part}.weight`, rows: hidden })),
      hidden,
      { bias: true },
    );
  const qkv = projections(['query_proj', 'key_proj', 'value_proj']);
  const ofPlaces = shared ? qkv : projections(['pos_query_proj', 'pos_key_proj']);

  return (x: Tensor, batch: TextBatch, { rows, first }: Places): Tensor =>
    distanceAttend(linear(x, qkv), linear(rows, ofPlaces), first, batch, shape);
}

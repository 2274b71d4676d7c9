// The frame that decoders share: embedding, layers, final norm, head. A family brings its layer; everything else is data.

import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import type { LayerStore, TextBatch } from '../../../kernels/batch.ts';
import { addInputs } from '../../../kernels/add-inputs.ts';
import { concat } from '../../../kernels/concat.ts';
import { embed, type Places } from '../../../kernels/embed.ts';
import { linear } from '../../../kernels/matmul.ts';
import { rotations } from '../../../kernels/rotations.ts';
import { scaleShift } from '../../../kernels/scale-shift.ts';
import { scale } from '../../../kernels/scale.ts';
import { softCap } from '../../../kernels/soft-cap.ts';
import type { WeightTable } from '../../weights.ts';
import type { DraftTarget, LanguageModel, TakenStates, TextForward } from './architecture.ts';
import { keptStates, type KeepingLayer, type KeptState } from './kept-states.ts';
import { norm, type Norm, type NormKind } from './norm.ts';
import type { RopeConfig } from './rope.ts';

export interface DecoderConfig {
  vocabulary: number;
  hidden: number;
  eps: number;
  /** Whether the head is the embedding matrix. */
  tied: boolean;
  layers: readonly DecoderLayer[];
  /** Rope tables; layers refer to theirs by its index. */
  ropes: readonly RopeConfig[];
  /** Names outside of the layers that differ from those of NAMES. */
  names?: Partial<DecoderNames>;
  /** Tensors that checkpoints of the family may have and that nothing reads. */
  ignored?: RegExp;
  /** Kind of the norms; left out: rms. */
  norm?: NormKind;
  /** Added to the weights of all norms, also of those of queries and keys. */
  normPlus?: 0 | 1;
  embeddingScale?: number;
  /** Whether the residual stream is stored divided by a constant (Granite's residual_multiplier), by which embeddingScale is divided as well. */
  scalesResidual?: boolean;
  /** Positions that are learned and added to the embeddings; left out: none. */
  positions?: LearnedPositions;
  /** Name of a norm of the embeddings; left out: none. */
  embeddingNorm?: string;
  /** Whether the head has a bias; such a head is not the embedding. */
  headBias?: boolean;
  logitScale?: number;
  /** Logits become cap · tanh(logit / cap); null: they stay as they are. */
  logitCap?: number | null;
}

/** A table of positions. */
interface LearnedPositions {
  name: string;
  rows: number;
  /** Row of a text's first token. */
  first: number;
}

/** Names of the modules outside of the layers. */
export interface DecoderNames {
  /** Beginning of the names of all but the head. */
  prefix: string;
  embedding: string;
  /** Module of all layers. */
  layers: string;
  finalNorm: string;
  head: string;
}

const NAMES: DecoderNames = {
  prefix: 'model.',
  embedding: 'embed_tokens',
  layers: 'layers',
  finalNorm: 'norm',
  head: 'lm_head',
};

/** Full names of the embedding and the head. */
export function namesOf({ names }: Pick<DecoderConfig, 'names'>) {
  const { prefix, embedding, layers, finalNorm, head } = { ...NAMES, ...names };
  return {
    prefix,
    /** A decoder saved without its head has no prefix. */
    embeddings: [`${prefix}${embedding}.weight`, `${embedding}.weight`],
    layers,
    finalNorm,
    head: `${head}.weight`,
  } as const;
}

export interface DecoderLayer extends KeepingLayer {
  /** Index of its rope table; null: heads are not rotated. */
  rope: number | null;
}

/** x [rows, hidden] → [rows, hidden]; `rope` [rows, dims] as `rotations` gives it, `entering` as LayerInputs does. */
export type Block = (
  x: Tensor,
  rope: Tensor | null,
  batch: TextBatch,
  kept: KeptState,
  entering: Tensor | null,
) => Tensor;

/** Columns that enter the layers beside the residual stream, computed once from its embeddings; x [rows, hidden] → [rows, columns] */
export type LayerInputs = (tape: Tape, batch: TextBatch, x: Tensor) => Tensor;

/** Streams that stand in place of one residual stream. */
export interface Streams {
  /** x [rows, hidden] → [rows, streams · hidden] */
  part(x: Tensor): Tensor;
  /** [rows, streams · hidden] → [rows, hidden] */
  join(streams: Tensor): Tensor;
}

/** A config, and how layer `i` is built from the weights whose names begin with `name`. */
export interface Decoder {
  config: DecoderConfig;
  layer(weights: WeightTable, name: string, i: number): Block;
  /** Columns that enter all layers, from the weights whose names begin with `name`; null: none. */
  inputs(weights: WeightTable, name: string): LayerInputs | null;
  /** The streams of all layers, from the weights whose names begin with `name`; null: one. */
  streams(weights: WeightTable, name: string): Streams | null;
}

export function languageModel(decoder: Decoder, weights: WeightTable): LanguageModel {
  const { vocabulary, hidden, tied, headBias = false, logitScale = 1, logitCap = null } = decoder.config;
  const { embedding, name, run, isParted } = stack(decoder, weights, decoder.config.layers.length);
  const final = finalNorm(decoder, weights, name);
  const names = namesOf(decoder.config);
  const head = tied ? embedding : weights.head(names.head, vocabulary, hidden, { bias: headBias });
  if (tied) weights.ignore(exactly(names.head));

  const logitsOf = (normed: Tensor): Tensor => {
    let logits = linear(normed, head); // [rows, vocabulary]
    if (logitScale !== 1) logits = scale(logits, logitScale);
    return logitCap === null ? logits : softCap(logits, logitCap);
  };
  return {
    states: run,
    head: (x, { wanted, states }) => logitsOf(final.rows(x, wanted, 'sampled', states)), // [sampled, vocabulary]
    // No draft model takes states of several streams.
    ...(!isParted && {
      target: {
        embedding,
        embeddingScale: decoder.config.embeddingScale ?? 1,
        logits: logitsOf,
        states: takingStates(run, final),
      },
    }),
  };
}

type Run = ReturnType<typeof stack>['run'];

function takingStates(run: Run, final: Norm): DraftTarget['states'] {
  return (tape, batch, stores, taken: TakenStates) => {
    if (taken === 'normed') {
      const states = run(tape, batch, stores);
      return { states, taken: final.all(states) };
    }
    const deep: Tensor[] = [];
    const states = run(tape, batch, stores, (x, depth) => {
      if (taken.includes(depth)) deep.push(scaleShift(x, 1, 0)); // a copy: layers change the states in place
    });
    return { states, taken: deep.reduce((before, x) => concat(before, x)) };
  };
}

/** Normalized states of all rows, [rows, hidden]. */
export function normedStates(decoder: Decoder, weights: WeightTable): TextForward {
  const { name, run } = stack(decoder, weights, decoder.config.layers.length);
  const final = finalNorm(decoder, weights, name);
  weights.ignore(exactly(namesOf(decoder.config).head));
  return (tape, batch, stores) => final.all(run(tape, batch, stores));
}

/**
 * States of all rows after each of these numbers of layers, ascending, side by side, [rows, hidden · depths], for image models that use
 * them as text conditions. Those after the last layer are normalized, as in transformers' list of hidden states.
 */
export function statesAfter(decoder: Decoder, weights: WeightTable, depths: readonly number[]): TextForward {
  const { layers } = decoder.config;
  const deepest = depths.at(-1)!;
  const { name, run } = stack(decoder, weights, deepest);
  const names = namesOf(decoder.config);
  layers.forEach((_, i) => {
    if (i >= deepest) weights.ignore(new RegExp(`^${name}${names.layers}\\.${i}\\.`));
  });
  weights.ignore(exactly(names.head));
  const normed = deepest === layers.length ? finalNorm(decoder, weights, name) : null;
  if (normed === null)
    for (const kind of ['weight', 'bias']) weights.ignore(exactly(`${name}${names.finalNorm}.${kind}`));
  return (tape, batch, stores) => {
    const early: Tensor[] = [];
    const last = run(tape, batch, stores, (x, depth) => {
      if (depth === deepest || !depths.includes(depth)) return;
      const [before] = early.splice(0);
      early.push(before ? concat(before, x) : scaleShift(x, 1, 0)); // a copy: layers change the states in place
    });
    const deep = normed ? normed.all(last) : last;
    return early.length > 0 ? concat(early[0]!, deep) : deep;
  };
}

function exactly(name: string): RegExp {
  return new RegExp(`^${name.replaceAll('.', '\\.')}$`);
}

/** The layers up to `depth`. A decoder saved without its head has no prefix in its tensor names. */
function stack({ config, layer, inputs, streams }: Decoder, weights: WeightTable, depth: number) {
  const { vocabulary, hidden, tied, ropes, layers, embeddingScale = 1, ignored } = config;
  const { prefix, embeddings, head, layers: module } = namesOf(config);
  const name = weights.has(embeddings[1]) ? '' : prefix;
  const own = name === '' ? embeddings[1] : embeddings[0];
  // Tied head and embedding are stored once, under either name.
  const isHead = tied && !weights.has(own) && weights.has(head);
  const embedding = weights.embedding(isHead ? head : own, vocabulary, hidden);
  const places = placesOf(config, weights, name);
  const embeddingNorm = config.embeddingNorm && normOf(config, weights, `${name}${config.embeddingNorm}`);
  const enter = inputs(weights, name);
  const parted = streams(weights, name);
  const blocks = layers.slice(0, depth).map((_, i) => layer(weights, `${name}${module}.${i}`, i));
  weights.ignore(/rotary_emb\.inv_freq$/);
  if (ignored) weights.ignore(ignored);

  const run = (
    tape: Tape,
    batch: TextBatch,
    stores: readonly LayerStore[],
    after?: (x: Tensor, depth: number) => void,
  ): Tensor => {
    let x = embed(tape, batch, embedding, { scale: embeddingScale, places }); // [rows, hidden]
    if (batch.added) x = addInputs(x, batch, batch.added, { isEach: true });
    if (embeddingNorm) x = embeddingNorm.all(x);
    const turns = ropes.map((_, i) => rotations(tape, batch, ropes, i)); // [rows, dims] each
    const entering = enter && enter(tape, batch, x); //                     [rows, columns]
    const kept = keptStates(layers, stores);
    if (parted) x = parted.part(x);
    blocks.forEach((block, i) => {
      const { rope } = layers[i]!;
      x = block(x, rope === null ? null : turns[rope]!, batch, kept[i]!, entering);
      const deep = batch.deepInputs?.[i];
      if (deep) x = addInputs(x, batch, deep);
      after?.(x, i + 1);
      tape.cut();
    });
    return parted ? parted.join(x) : x;
  };
  return { embedding, name, run, isParted: parted !== null };
}

function placesOf({ positions, hidden }: DecoderConfig, weights: WeightTable, name: string): Places | null {
  if (!positions) return null;
  const { rows, first } = positions;
  return { positions: weights.table(`${name}${positions.name}.weight`, rows, hidden), first };
}

function finalNorm({ config }: Decoder, weights: WeightTable, name: string): Norm {
  return normOf(config, weights, `${name}${namesOf(config).finalNorm}`);
}

function normOf(config: DecoderConfig, weights: WeightTable, name: string): Norm {
  const { hidden, eps, norm: kind = 'rms', normPlus: plus = 0 } = config;
  return norm(weights, name, hidden, { kind, eps, plus });
}

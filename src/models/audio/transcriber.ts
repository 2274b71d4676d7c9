// The interface between the engine and models that transcribe sounds: an encoder, whose rows the decoder's layers attend to, and a decoder of tokens.

import type { Tape } from '../../gpu/tape.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import type { HeadShape, LayerStore, TextBatch } from '../../kernels/batch.ts';
import type { Json } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import type { RopeConfig } from '../text/blocks/rope.ts';
import type { WeightTable } from '../weights.ts';

export interface Transcriber {
  /** The class, as /v1/models and model info show it. */
  architecture: string;
  vocabulary: number;
  /** Layers of the decoder, each with keys and values of its own tokens and of the sound. */
  layers: number;
  heads: HeadShape;
  /** Number of tokens that the decoder was trained for. */
  context: number;
  /** Tables of rotary frequencies of its tokens; none: they have positions of another kind. */
  ropes: readonly RopeConfig[];
  sound: Hearing;
  /** The tokens that begin and end a text; null: its tokenizer names these, and others that say what to write. */
  prompt: { start: number; end: number } | null;
  /** How tokens are aligned with the sound; null: the model has no heads for that. */
  alignment: Alignment | null;
  /** Why the model has none, where its class has some. */
  alignmentProblem?: string;
  page(weights: WeightTable): TranscriberPage;
}

/** How a class takes sounds: as frames at regular distances, of which a window has some. */
export interface Hearing {
  /** Samples per second. */
  rate: number;
  /** Samples from one frame to the next, and values of a frame. */
  hop: number;
  columns: number;
  /** Most and least frames of a window; silence fills up what has less. */
  frames: number;
  least: number;
  framesOf(samples: number): number;
  /** Rows that the encoder makes of so many frames. */
  rowsOf(frames: number): number;
  /** The frames of a sound, which silence fills up, [frames, columns]; yields between pieces. */
  features(samples: Float32Array, frames: number): Generator<void, Float32Array<ArrayBuffer>, void>;
}

/** What a class is read from. */
export interface TranscriberFiles extends Pick<MediaFiles, 'config' | 'processors'> {
  /** generation_config.json; empty where there is none. */
  generation: Json;
}

export interface Alignment {
  heads: readonly AlignmentHead[];
  /** Neighbours whose median a weight becomes; odd. */
  medianWidth: number;
}

/** A head of the attention to the sound that looks where a token is said. */
export interface AlignmentHead {
  layer: number;
  head: number;
}

/** Rows of a step, and where each layer keeps its keys and values. */
export interface Attended {
  batch: TextBatch;
  stores: readonly LayerStore[];
}

export interface TranscriberPage {
  /** Writes the keys and values of a window's rows for each layer of the decoder; features [1, frames, columns] → the encoder's rows, [1, rows, hidden] */
  hear(features: Tensor, stores: readonly LayerStore[]): Tensor;
  /** Logits of the wanted rows, [sampled, vocabulary]. `own`: the tokens; `heard`: the same rows, each of which sees its window's. */
  write(tape: Tape, own: Attended, heard: Attended): Tensor;
  /** Weights that the chosen heads of each layer which has some give to the sound, [rows, chosen heads · the sound's rows]. */
  align(tape: Tape, own: Attended, heard: Attended, heads: readonly AlignmentHead[]): Tensor[];
}

// The interface between the engine and a family of text models: the class names it answers to, and a declaration made from a
// config.json. Everything the engine knows about a text model is here.

import type { Tape } from '../../gpu/tape.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import type { KvFormat, LayerStore, TextBatch } from '../../kernels/batch.ts';
import type { Json } from '../config-values.ts';
import type { WeightTable } from '../weights.ts';
import type { RopeConfig } from './rope.ts';

/** A class that a config.json may name. */
export interface TextClass {
  name: string;
  /** The `model_type` that stands for this class where config.json has no `architectures`; null: none does. */
  modelType: string | null;
  /** Published models of the class, for the table in src/models/README.md. */
  examples?: string;
  /** Kinds of models that can be opened with it. Decoders saved without their head serve embeddings only. */
  serves: readonly ('generate' | 'embed')[];
}

/** A shape of computation and the classes that share it. */
export interface TextArchitecture {
  classes: readonly TextClass[];
  /** config.json → declaration. Errors: bad_checkpoint, unsupported. */
  read(json: Json, className: string): TextDeclaration;
}

/** Keys and values of a layer, in pages. */
export interface KvState {
  kind: 'kv';
  kvHeads: number;
  /** Dimensions of a head. */
  dims: number;
  /** Tokens that a query looks back on, itself included; null: all. */
  window: number | null;
  /** Left out: f32 for weights stored as f32 and computed so, else f16. */
  format?: KvFormat;
}

/**
 * A state of fixed size for each sequence, as recurrent and convolutional layers keep it. A sequence whose cached length is 0 begins
 * with zeros, whatever its slot holds. The engine can only go back to where it took a snapshot (engine/text/cache/state-slots.ts).
 */
export interface SlotState {
  kind: 'slot';
  /** f32 values of one sequence's state. */
  values: number;
}

export type LayerState = KvState | SlotState;

export interface TextDeclaration {
  /** The class, as /v1/models and model info show it. */
  architecture: string;
  vocabulary: number;
  hidden: number;
  /** Tokens the model was made for, scaling included. */
  context: number;
  /** Rope tables; none where positions are learned. All but the first go by the same lengths as the first. */
  ropes: readonly RopeConfig[];
  inputs: TextInputs;
  /** States that the layers keep from step to step, in the order of `stores`. */
  layers: readonly LayerState[];
  /** Columns of the widest intermediate of a row, logits left out. */
  widest: number;
  /** null: no layer has experts. */
  experts: DeclaredExperts | null;
  /** Names under which head and embedding may be stored; null: they are different tensors. */
  tied: TiedHead | null;
  /** Pages, for what the model can serve; null: it cannot. */
  generate: ((weights: WeightTable) => LanguageModel) | null;
  /** Normed states of all rows, [rows, hidden]; texts are pooled from them. */
  embed: ((weights: WeightTable) => TextForward) | null;
  /** States of all rows after the first `depth` layers, [rows, hidden]: the text as an image model reads it. */
  states: ((weights: WeightTable, depth: number) => TextForward) | null;
}

/** The kinds of rows that a model takes. */
export interface TextInputs {
  /** Whether rows may be embeddings that another model computed, in place of tokens. */
  embeddings: boolean;
  /** Parts of a row's position: 1, or 3 for time, height and width. */
  positions: 1 | 3;
  /** `causal`: a row sees itself and what is before it, or its span where it lies in one. `whole`: each row sees the whole text. */
  attention: 'causal' | 'spans' | 'whole';
}

export interface DeclaredExperts {
  /** Layers that have experts. */
  layers: number;
  /** Experts of such a layer. */
  count: number;
  /** Experts that a token goes to. */
  chosen: number;
  /** Columns of the widest intermediate of an expert. */
  widest: number;
}

/** A head that config.json ties to the embedding. */
export interface TiedHead {
  head: string;
  /** Names of the embedding; a checkpoint has one of them. */
  embeddings: readonly string[];
  /** The declaration for a checkpoint whose stored head differs from its embedding. */
  untied: TextDeclaration;
}

/** Records a forward pass over the rows of a batch. `stores` has an entry for each declared layer. */
export type TextForward = (tape: Tape, batch: TextBatch, stores: readonly LayerStore[]) => Tensor;

/** A language model in its two halves. */
export interface LanguageModel {
  /** States of all rows, [rows, hidden]. */
  states: TextForward;
  /** states [rows, hidden] → logits of the wanted rows, [sampled, vocabulary] */
  head: (states: Tensor, batch: Pick<TextBatch, 'wanted' | 'states'>) => Tensor;
}

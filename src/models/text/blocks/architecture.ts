// The interface between the engine and a family of text models: the class names that it implements, and a declaration made from a
// config.json. The engine knows nothing else about a text model.

import type { ExpertOrder } from '../../../files/checkpoint/fused-experts.ts';
import type { DerivedVectors } from '../../../files/tensors/derived.ts';
import type { GgufClass } from '../../../files/gguf/model.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import type { KvFormat, LayerStore, TextBatch } from '../../../kernels/batch.ts';
import type { LatentShape } from '../../../kernels/latent-kv.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import type { ConfigFile, Json } from '../../config-values.ts';
import type { WeightTable } from '../../weights.ts';
import type { TextOutputs } from './outputs.ts';
import type { RopeConfig } from './rope.ts';

/** A class that a config.json may name. */
export interface TextClass {
  name: string;
  /** The `model_type` that means this class in a config.json without `architectures`; null: none does. */
  modelType: string | null;
  /** Published models of the class, for the table in src/models/README.md. */
  examples?: string;
  /** Published with Python code that computes the same and is not needed; left out: code beside the class is refused. */
  needsNoCode?: boolean;
  /**
   * The class of configurations that such code defines, whose models may have names of other classes there and model types of others; left out: none. A
   * model that names it is opened with the class of this property that ends like its own, or in Model.
   */
  codeConfig?: string;
  /** Kinds of models that can be opened with it. Decoders saved without their head serve embeddings only. */
  serves: readonly ('generate' | 'embed')[];
}

/** A shape of computation and the classes that share it. */
export interface TextArchitecture {
  classes: readonly TextClass[];
  /** Values of config.json → declaration. `file`: the file that they are from, for messages. Errors: bad_checkpoint, unsupported. */
  read(json: Json, className: string, file: ConfigFile): TextDeclaration;
  /** The declaration of the part that each of `ranks` devices computes; left out: none is divided. Throws unsupported. */
  divide?(json: Json, className: string, file: ConfigFile, ranks: number): TextDeclaration;
  /** GGUF files of the architecture; left out: none are read. */
  gguf?: readonly GgufClass[];
  /** How a layer's experts are stored in one tensor; left out: they are not. */
  fusedExperts?: ExpertOrder;
  /** Matrices that checkpoints store as [k, rows], by class; left out: none. */
  transposed?: Readonly<Record<string, RegExp>>;
  /** Vectors that are computed from tensors that checkpoints store, by class; left out: none. */
  derived?: Readonly<Record<string, (json: Json) => DerivedVectors>>;
}

/** Keys and values of a layer, in pages. */
export interface KvState {
  kind: 'kv';
  kvHeads: number;
  /** Dimensions of a head as pages store it, a multiple of 4. */
  dims: number;
  /** Number of tokens that a query sees, including itself; null: all. */
  window: number | null;
  /** Values are the first dimensions of the keys, so that pages have none beside them; left out: they are not. */
  latent?: boolean;
  /** Storage format; left out: f32 for a model stored and computed in f32, otherwise f16. */
  format?: KvFormat;
  /** Keys hold numbers that codes would spoil, so that pages of codes are refused; left out: they do not. */
  floats?: true;
}

/**
 * A state of fixed size per sequence, for recurrent and convolutional layers. A sequence whose cached length is 0 begins with
 * zeros, whatever its slot contains. A sequence can only continue from positions after which the engine copied its state
 * (engine/text/cache/state-copies.ts).
 */
export interface SlotState {
  kind: 'slot';
  /** f32 values of one sequence's state. */
  values: number;
}

/** Keys and values of an earlier layer, which this one reads and does not write. */
export interface SharedState {
  kind: 'shared';
  /** Index of that layer's state. */
  layer: number;
}

export type LayerState = KvState | SlotState | SharedState;

export interface TextDeclaration {
  /** The class, as /v1/models and model info show it. */
  architecture: string;
  vocabulary: number;
  hidden: number;
  /** Number of tokens that the model was trained for, including scaling. */
  context: number;
  /** Rope tables; none if positions are learned. All tables depend on the same lengths as the first. */
  ropes: readonly RopeConfig[];
  inputs: TextInputs;
  /** Number of layers; a layer may keep one state, several or none. */
  depth: number;
  /** States that the layers keep from step to step, in the order of `stores`. */
  layers: readonly LayerState[];
  /** Columns of the widest intermediate of a row, except the logits. */
  widest: number;
  /** null: no layer has experts. */
  experts: DeclaredExperts | null;
  /** Alternative names of the head and the embedding; null: they are different tensors. */
  tied: TiedHead | null;
  /** Model page for generation; null: the model cannot generate text. */
  generate: ((weights: WeightTable) => LanguageModel) | null;
  /**
   * Model page for embeddings: normalized states of all rows, [rows, hidden], from which texts are pooled; with `outputs` their values, [sampled, labels] or
   * [rows, labels]. null: not available.
   */
  embed: ((weights: WeightTable) => TextForward) | null;
  /**
   * States of all rows after each of these numbers of layers, ascending, side by side, [rows, hidden · depths], for image models that use
   * them as text conditions. Those after the last layer are normalized.
   */
  states: ((weights: WeightTable, depths: readonly number[]) => TextForward) | null;
  /** What a head gives in place of states; left out: the class has none. */
  outputs?: TextOutputs;
  /** LoRAs for tasks among the model's own weights; left out: there are none. */
  tasks?: TextTasks;
  /** Columns of the vectors of texts that `embed` gives in place of states, [sampled, vectors]; left out: it gives states. */
  vectors?: number;
  /** The heads among the checkpoint's own weights that predict several tokens ahead; left out: the family has none. */
  mtp?: OwnDraft;
  /** Heads whose keys and values prompts may have expanded from latents, see kernels/latent-expansion.ts; left out: there are none. */
  latents?: LatentShape;
  /** The prompt is a source, which an encoder reads; left out: the model goes on with the prompt. */
  source?: SourceDeclaration;
}

/** What an encoder reads before the model writes. `context` is the sum of both limits, that of sources rounded up to pages. */
export interface SourceDeclaration {
  /** Most tokens of a source. */
  tokens: number;
  /** Most tokens that the model writes, those that begin each text included. */
  written: number;
  /** Keys and values of the encoder's layers, which are needed while a source is read. */
  layers: readonly KvState[];
}

/** The kinds of rows that a model accepts. */
export interface TextInputs {
  /** Layers after which columns of input embeddings are added to the states, counted from the first; left out: none. */
  deep?: number;
  /** Whether rows may be embeddings that another model computed, instead of tokens. */
  embeddings: boolean;
  /** Whether these are added to the embeddings of tokens; left out: they stand in their place. */
  added?: true;
  /** Types of tokens: of texts in a pair; left out: the model reads none. */
  types?: number;
  /** Parts of a row's position: 1, or 3 for time, height and width. */
  positions: 1 | 3;
  /**
   * `causal`: a row sees itself and earlier rows. `spans`: a row also sees the later rows of its span. `whole`: each row sees the
   * whole text.
   */
  attention: 'causal' | 'spans' | 'whole';
  /** The most rows of a span, which one step computes; left out: the engine is told of no spans. */
  span?: number;
}

export interface DeclaredExperts {
  /** Number of layers with experts. */
  layers: number;
  /** Number of experts of such a layer. */
  count: number;
  /** Number of experts per token. */
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

/**
 * Records an encoder over the rows of a batch of sources, which writes to `stores`, those of the language model, what its layers attend to; → the
 * encoder's states, [rows, hidden]. `own`: stores of the encoder's layers.
 */
export type SourceForward = (
  tape: Tape,
  batch: TextBatch,
  own: readonly LayerStore[],
  stores: readonly LayerStore[],
) => Tensor;

/** LoRAs of which a request chooses one by the name of its task. Tensors `<matrix>.weight.lora_A` [tasks, rank, k] and `lora_B` [tasks, rows, rank] hold all. */
export interface TextTasks {
  /** In the order of their LoRAs. */
  names: readonly string[];
  /** What stands before the texts of a task. */
  prompts: Readonly<Record<string, string>>;
  rank: number;
  /** On the product of the factors. */
  scale: number;
  /** Matrices whose LoRAs the page itself adds. */
  own: RegExp;
}

/** A language model in its two halves. */
export interface LanguageModel {
  /** States of all rows, [rows, hidden]. */
  states: TextForward;
  /** states [rows, hidden] → logits of the sampled rows, [sampled, vocabulary] */
  head: (states: Tensor, batch: Pick<TextBatch, 'wanted' | 'states'>) => Tensor;
  /** Writes keys and values of sources; left out: the declaration has none. */
  readSources?: SourceForward;
  /** What draft models take of it; left out: there can be none. */
  target?: DraftTarget;
  /** The draft model among its own weights; left out: it was not asked for. */
  draft?: DraftPage;
}

/** States of all rows that a draft model takes of its target: those before the head, or those after so many layers each, side by side. */
export type TakenStates = 'normed' | readonly number[];

/** What a draft model takes of the model whose tokens it guesses, and shares with it. */
export interface DraftTarget {
  embedding: Matrix;
  /** Factor on rows of the embedding. */
  embeddingScale: number;
  /** Normalized states [rows, hidden] → logits [rows, vocabulary] */
  logits(states: Tensor): Tensor;
  /** Like LanguageModel.states, with the states that are taken, [rows, hidden · depths]. */
  states(
    tape: Tape,
    batch: TextBatch,
    stores: readonly LayerStore[],
    taken: TakenStates,
  ): { states: Tensor; taken: Tensor };
}

/**
 * A draft model: what the engine needs to know of it. It computes a row for each token of a text but the last one, of the target's states there and
 * the token behind it, or, where it takes no states, a row for each token.
 */
export interface DraftDeclaration {
  /** Name for messages: its class, or the prefix of its weights. */
  name: string;
  /** What it is: heads made for the target, EAGLE3, or a language model of its own. */
  kind: 'mtp' | 'eagle3' | 'draft';
  /** Columns of the states that it hands from one guessed token to the next; those of `taken` are as wide unless `enter` makes them so. */
  hidden: number;
  /** null: it is a language model of its own, and takes nothing. */
  taken: TakenStates | null;
  vocabulary: number;
  ropes: readonly RopeConfig[];
  positions: 1 | 3;
  /**
   * States of its layers. `shared` counts all layers of the target, which come first. A draft model whose layers are all shared computes no rows but the last of a
   * text, and guesses all tokens from there, at the place of the first.
   */
  layers: readonly LayerState[];
  /** The tensor of what has to be added to each token of its own vocabulary; null: its tokens are the target's. */
  tokenOffsets: { name: string; count: number } | null;
  page(weights: WeightTable, target: DraftTarget): DraftPage;
}

/** A draft model among the model's own weights. */
export interface OwnDraft extends DraftDeclaration {
  /** A tensor that a checkpoint has if it has the draft model. */
  sign: string;
}

/** The page of a draft model. */
export interface DraftPage {
  /** Taken states [rows, columns] → [rows, hidden]; left out: they are taken as they are. */
  enter?(taken: Tensor): Tensor;
  /** States of all rows [rows, columns], of the batch's tokens and what was handed on [rows, hidden]; `hidden` null: nothing is. */
  states(tape: Tape, batch: TextBatch, stores: readonly LayerStore[], hidden: Tensor | null): Tensor;
  /** Of the wanted rows: logits [sampled, vocabulary], and what is handed on [sampled, hidden]; `handed` null: the rows of `states`. */
  head(states: Tensor, batch: Pick<TextBatch, 'wanted'>): { logits: Tensor; handed: Tensor | null };
}

// The interface between the engine and models that read images, videos or sounds: what a processor makes of a decoded medium, and the
// towers that turn it into rows for the language model. A family (`MediaFamily`) is registered in media-families.ts.

import type { Clip, MediaKind, Sound, TileLimits, VideoSource } from '../files/media/decoded.ts';
import type { Pixels } from '../files/image/pixels.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { TranscriptionForm } from './transcription-form.ts';
import type { Json } from './config-values.ts';
import type { WeightTable } from './weights.ts';

export type { Clip, MediaKind, Sound, TileLimits, VideoSource };

/** Classes whose towers stand before a language model that models/text/wrappers.ts finds within them. */
export interface MediaFamily {
  /** Class names of config.json. */
  classes: readonly string[];
  /** Those of the classes whose config.json says all that their processors need; left out: none. */
  withoutProcessors?: readonly string[];
  /** Changes to the language model's configuration, as keys that no published configuration has; left out: none. */
  text?(config: Json, outer: Json): Json;
  /** Errors: bad_checkpoint, unsupported. */
  read(files: MediaFiles): MediaModel;
}

export interface MediaFiles {
  /** All of config.json. */
  config: Json;
  /** Configurations of processors that the checkpoint has, by file name: preprocessor_config.json, processor_config.json … */
  processors: Readonly<Record<string, Json>>;
  /** Columns of the language model's states. */
  hidden: number;
}

export interface MediaModel {
  /** A kind without a reader is refused. */
  readers: MediaReaders;
  /**
   * Pages of towers by name. Their weights are the tensors that the language model does not have, by their names in the checkpoint
   * without a leading `model.`.
   */
  towers: Readonly<Record<string, (weights: WeightTable) => Tower>>;
  /** Whether media stand before the texts of their message where the chat template takes text only; left out: where their parts are. */
  mediaFirst?: boolean;
  /** Whether media stand between texts without line breaks there; left out: with them. */
  mediaJoined?: boolean;
  /** The most tokens of a run, where the tokens of each run see each other; false: they see earlier ones only. */
  spans: number | false;
  /**
   * Rows are added to the embeddings of a text's tokens, from the first on and also of those that are generated, until the rows end; left out: they
   * replace the embeddings of the tokens of their runs.
   */
  added?: true;
  /** Names of matrices that checkpoints store column by column, as [k, rows]; left out: none. */
  transposed?: readonly string[];
  /** What becomes of a medium of a prompt that has these kinds of media; left out: it stays as it is. */
  among?(kind: MediaKind, prepared: PreparedMedium, kinds: ReadonlySet<MediaKind>): PreparedMedium;
  /** LoRAs that the language model has for prompts with media: the first one whose kind of media a prompt has is applied; left out: none. */
  loras?: readonly MediaLora[];
  /** Positions of three parts of `tokens` tokens; left out: each token's is its index. `media` are in order. */
  places?: (tokens: number, media: readonly PlacedMedium[]) => Place[];
}

/** A LoRA of a class whose checkpoints bring it along. */
export interface MediaLora {
  name: string;
  kind: MediaKind;
  /** Folder of the checkpoint that PEFT saved it in, where it is not among the weights. */
  folder: string;
  /** Of factors among the weights, `<module>.lora_A.<name>.weight` and `lora_B`: their rank, and the factor on B · A; null: they are in the folder. */
  among: { rank: number; scale: number } | null;
}

export interface MediaReaders {
  image?: ImageReader;
  video?: VideoReader;
  audio?: AudioReader;
}

interface ShownReader {
  /** Text that the chat template prints for a medium. */
  placeholder: string;
  /** Texts that chat templates of the class print instead; left out: none. */
  otherPlaceholders?: readonly string[];
}

export interface ImageReader extends ShownReader {
  /** What becomes of transparency: pixels are laid over white, or keep their colours. */
  alpha: 'white' | 'dropped';
  /** Whether images are divided into tiles within limits that a request may set; left out: it may not. */
  tiles?: boolean;
  prepare(image: Pixels, limits: TileLimits): Preparation;
}

export interface VideoReader extends ShownReader {
  /** Whether chat templates get the placeholder as a part of type text, because published ones leave videos out; left out: they do not. */
  isShownAsText?: boolean;
  /** Indices of the frames that are taken; one may stand more than once. */
  frames(source: VideoSource): number[];
  /** Applied to each frame when it is decoded, so that only small frames stay in memory; left out: frames stay as they are. */
  fit?(frame: Pixels, source: VideoSource, limits: TileLimits): Pixels;
  prepare(clip: Clip, limits: TileLimits): Preparation;
}

export interface AudioReader extends ShownReader {
  /** Samples per second of the sounds that `prepare` takes. */
  rate: number;
  /** How the text of a sound is asked for; left out: by an instruction. */
  transcription?: TranscriptionForm;
  prepare(sound: Sound, limits: TileLimits): Preparation;
}

/** Yields the number of rows that the medium takes before their values are computed, then nothing between pieces; returns the medium. */
export type Preparation = Generator<number | void, PreparedMedium, void>;

/** What stands for a medium in the prompt, and what its tower reads. A `prepare` is pure; its pieces throw bad_request. */
export interface PreparedMedium {
  /** What replaces the placeholder: text, special tokens included, and runs of tokens that take the tower's rows, by their number, in order. A TokenRun names its own token. */
  parts: readonly (string | number | TokenRun)[];
  /** Rows of the tower, where they are added; left out: those of the runs. */
  rows?: number;
  /** The token in whose places the rows stand, by its text, or by its id where tokenizers name it differently. */
  token: string | number;
  /** Name of the tower. */
  tower: string;
  /** Arrays for the tower, by name. */
  inputs: Readonly<Record<string, MediaInput>>;
  /** Sizes on which the tower's tape depends, as plain data; with the shapes of `inputs` they tell which media share a tape. */
  layout: unknown;
  /** Cells of each run, for `places`; left out: the class needs none. */
  grid?: MediaGrid;
  /** Length of a sound. */
  seconds?: number;
}

/** A run of tokens that take rows of a medium's tower, and are not those of the medium. */
export interface TokenRun {
  token: string;
  rows: number;
}

export interface MediaInput {
  shape: readonly number[];
  data: Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;
}

/** The tokens of a run are cells: frame by frame, row by row. */
export interface MediaGrid {
  /** Position in time of each frame of a run, from the run's first one on. */
  times: readonly number[];
  rows: number;
  columns: number;
}

/** Tokens from `first` to `end` - 1. */
export interface MediaRun {
  first: number;
  end: number;
}

export interface PlacedMedium {
  kind: MediaKind;
  runs: readonly MediaRun[];
  grid: MediaGrid | undefined;
}

export type Place = readonly [time: number, height: number, width: number];

/**
 * Records a forward pass for a prepared medium; `inputs` are on the tape. Returns f32 rows for the language model, [rows, hidden] (extents
 * before the last are multiplied), then those that are added to the states after each of the first layers, if the language model
 * declares any (`TextInputs.deep`). Calls `tape.cut` between its layers, where other work may run.
 */
export type Tower = (inputs: Readonly<Record<string, Tensor>>, layout: unknown) => readonly Tensor[];

// An image family is one value: the diffusers pipeline classes that it implements, their components and call arguments, defaults
// and the hints for them, the shape of its latents, and the model itself. The rest of the engine reads only this declaration; a
// family is added by declaring it and listing it in built-in.ts.

import { type Prose } from '../../../files/message.ts';
import type {
  ComponentClasses,
  PipelineComponents,
  PipelineTask,
} from '../../../files/pipeline/pipeline-classes.ts';
import type { LoraScheme } from '../../../files/lora/scheme.ts';
import type { FileLayouts } from '../../../files/pipeline/file-layout.ts';
import type { Pipeline, PipelineComponent } from '../../../files/pipeline/pipeline-index.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import type { Json } from '../../../models/config-values.ts';
import type { Autoencoder } from './autoencoder.ts';
import type { CallArguments, CallArgumentTable } from '../calls/call-arguments.ts';
import type { ComponentAccess } from '../components/components.ts';
import type { ComputeOptions } from '../recording/compute.ts';
import type { RankRules } from '../ranks/rank-rules.ts';
import type { ControlFields } from '../calls/control.ts';
import type { Predictor } from '../recording/stepper.ts';
import type { TeaCacheDefaults } from '../step-cache/teacache.ts';
import type {
  ImageEvent,
  CompleteImageRequest,
  Pixels,
  ResolvedImageRequest,
  Size,
} from '../calls/image-model.ts';

export type { ComponentClasses, PipelineComponents, PipelineTask };

export interface ImageFamily {
  /** The family's name in messages, such as stable-diffusion-xl. */
  readonly name: string;
  /** Names of published models, for the table in src/models/README.md. */
  readonly examples?: string;
  /** Matches the model ids of the family. */
  readonly modelIds: RegExp;
  readonly components: PipelineComponents;
  /** Name of the component that denoises. */
  readonly denoiser: string;
  /** Name of the component that holds the autoencoder. */
  readonly autoencoder: string;
  /** Reads the configuration of the autoencoder. Throws bad_checkpoint and unsupported. */
  readAutoencoder(component: PipelineComponent): Autoencoder;
  readonly latents: LatentLayout;
  /** Sets of pipeline classes. The first class of the first set represents the family. */
  readonly pipelines: readonly PipelineSet[];
  /** Values if neither the files nor the name of a model imply others. */
  readonly defaults: FamilyDefaults;
  /** Defaults by words in a model's name; the first match is used. */
  readonly namedDefaults: readonly (readonly [words: RegExp, defaults: FamilyDefaults])[];
  /** Defaults that the files of a model imply. `settings`: the entries of model_index.json that are not components. */
  defaultsOf?(components: ComponentFiles, settings: Readonly<Record<string, unknown>>): ImpliedDefaults;
  /** Request fields that only some families take; families that do not declare one of them refuse it. */
  readonly takes: readonly (keyof CompleteImageRequest)[];
  /** Whether prompts may have words whose embeddings are given beside the model (textual inversion); left out: they may not. */
  readonly readsWords?: true;
  /** Whether prompts may emphasize words, as in (word:1.2). */
  readonly readsEmphasis: boolean;
  /** Flow models: sigmas before the shift that diffusers' pipelines pass to the schedule; null: the schedule computes its own. */
  readonly sigmas: ((steps: number) => number[]) | null;
  /** μ of schedules that shift by the image's size; left out: as scheduler_config.json says. */
  readonly mu?: (imageTokens: number, steps: number) => number;
  /** Names of modules in LoRA for the family's models; left out: none is applied. */
  readonly lora?: LoraScheme;
  /** The layer of the denoiser that LoRAs may widen; left out: none. */
  readonly widening?: WidenedInput;
  /** Layouts of the family's models in one file; left out: none is built in. */
  readonly files?: FileLayouts;
  /** Reads the configurations of the components, but no weights. Throws bad_checkpoint and unsupported. */
  open(components: ComponentAccess, pipeline: Pick<Pipeline, 'settings' | 'className'>): FamilyModel;
}

/** The layer by which a denoiser reads the latents, and the classes whose models have a wider one. */
export interface WidenedInput {
  component: string;
  tensor: string;
  /** Matches the layer in the names of LoRAs' modules. */
  module: RegExp;
  /** Keys of the component's configuration: the columns of the layer, and those of a model without further inputs. */
  inputs: string;
  outputs: string;
  /** Returns the classes for that many columns; {}: none is built. `plain`: columns without further inputs. */
  classes(columns: number, plain: number): Readonly<Partial<Record<PipelineTask, string>>>;
}

/** Shape of the latents that the denoiser takes. Channels come from its configuration, pixels per latent from the autoencoder. */
export interface LatentLayout {
  /** Latents along one side of a token. */
  patch: number;
}

export type ComponentFiles = Readonly<Record<string, Pick<PipelineComponent, 'className' | 'config'>>>;

/** Steps, guidance, the side of a square image in pixels or both sides of others, and of families that draw clips their frames, and frames in a second. */
export type FamilyDefaults = Partial<
  Record<'frames' | 'fps' | 'steps' | 'guidance' | 'size' | 'width' | 'height', number>
>;

/** Defaults with the hint that they are taken from; the hint follows "by" in messages. */
export type DefaultsFrom = { defaults: FamilyDefaults; from: string };

/**
 * `certain` applies whatever the model's name says, `likely` only if the name says nothing; `hint` is a note for the user instead
 * of a value.
 */
export interface ImpliedDefaults {
  certain?: DefaultsFrom;
  likely?: DefaultsFrom;
  hint?: Prose;
}

/**
 * Number of steps that a strength leaves, as in diffusers. `floor`: rounds down. `ceil`: rounds up. `spread`: all steps are used,
 * within that share of the timesteps of a distillation; `floor` for schedules without one.
 */
export type StrengthRule = 'floor' | 'ceil' | 'spread';

/** Pipeline classes that differ only in their task. A task without a class uses the class of the nearest simpler task. */
export interface PipelineSet {
  readonly classes: Readonly<Partial<Record<PipelineTask, string>>>;
  /** Components that these classes have beside those of the family. */
  readonly components?: PipelineComponents;
  /**
   * How images are given to classes whose denoiser sees them beside the latents; left out: denoising starts from an image. A class for
   * inpainting does both: it starts from the last image, and sees the one before it, or that image if it is the only one.
   */
  readonly references?: ReferenceRule;
  readonly strength: StrengthRule;
  /** How strongly each ControlNet steers where a request states nothing; left out: 1. */
  readonly controlScale?: Readonly<Partial<Record<PipelineTask, number>>>;
  /** Call arguments of the class for a task, under diffusers' names. */
  callArguments(task: PipelineTask, model: CalledModel): CallArgumentTable;
  /** Defaults of all models of these classes. */
  readonly defaults?: FamilyDefaults;
  /** Returns scheduler_config.json with the corrections that diffusers' classes make in it. */
  correctScheduler?(config: Json, task: PipelineTask): Json;
  /** Returns the size that call arguments make of the decided one; null, or left out: the decided one. */
  sizeOf?(size: Size, call: CallArguments, multiple: number): Size | null;
}

export interface ReferenceRule {
  /** Limit on the images of a request. */
  most: number;
  /** Whether images are frames of the clip that is drawn, in its size; left out: they have sizes of their own. */
  isFrames?: true;
  /** The image whose size is drawn unless the request states one; left out: the last. */
  drawn?: 'first';
  /**
   * Returns the size in which the autoencoder encodes an image. `pixels`: those of the model's default size; `multiple`: what sides are
   * multiples of.
   */
  sizeOf(image: Size, pixels: number, multiple: number): Size;
  /** Whether an image of a frame keeps its proportions, so that its middle is taken; left out: it is stretched. */
  cuts?: true;
  /** Returns the size to which an image is scaled before its middle is taken; left out: that in which it is encoded. */
  scaledSizeOf?(image: Size, pixels: number): Size;
  /** Returns the size in which the text encoder sees an image; left out: it sees none. */
  shownSizeOf?(image: Size, pixels: number): Size;
}

/** Facts about an opened model that decide which call arguments it takes. */
export interface CalledModel {
  components: readonly string[];
  /** The entries of model_index.json that are not components. */
  settings: Readonly<Record<string, unknown>>;
}

export interface RunRequest extends ControlFields {
  prompt: string;
  values: ResolvedImageRequest;
  sources: Extract<ImageEvent, { type: 'resolved' }>['sources'];
  call: CallArguments;
  /** Limit on the tokens of a prompt that are read; left out: the family's own limit. */
  maxSequenceLength?: number;
  /** Calls of the denoiser in the whole plan. */
  calls: number;
  /** Image to which the denoiser attends beside the text; null: none. */
  imagePrompt: Pixels | null;
  ipAdapterScale?: number;
  /** Images of ControlNets in the size that is drawn, one for each. */
  controls: readonly Pixels[];
  /** Images that the denoiser sees beside the latents, in the size in which the text encoder sees them. */
  references: readonly Pixels[];
  options: ComputeOptions;
}

/**
 * How a denoiser that is made for inpainting takes the mask. `coarse`: one value for each latent, before the latents of the image
 * without the masked part. `folded`: the values of all pixels of each latent, behind those latents.
 */
export type MaskInput = 'coarse' | 'folded';

/** States of a text, or of several as items of one batch. */
export interface TextStates {
  /** [items, tokens, columns]; `tokens`: those of the text, where others stand behind them. */
  states: Tensor;
  tokens?: number;
  /** [items, columns], or of several images [items, 1, columns]; left out: the denoiser takes none. */
  pooled?: Tensor;
  /** States by a second encoder, of a length of their own, [items, tokens, columns]; left out: there are none. */
  further?: Tensor;
}

/** The tensors that a recorded step reads and writes; `images`: images or clips that take the step together. */
export interface StepTensors {
  images: number;
  /** [images · frames, height, width, channels] */
  latents: Tensor;
  /** In the shape of the latents. */
  output: Tensor;
  /** Additional channels of a denoiser made for inpainting, or the latents of an image beside; null: there are none. */
  extra: Tensor | null;
  /** The texts of a prepared request; of several images, each of its items is followed by that of the other images. */
  texts: readonly TextStates[];
}

/** The denoiser; its weights are on the device until it is disposed. */
export interface DenoiserPage extends Disposable {
  record(step: StepTensors, options: ComputeOptions): Promise<Predictor>;
}

/** An encoded prompt, on the device until it is disposed. */
export interface Prepared extends Disposable {
  /** Tokens of the prompt. */
  tokens: number;
  /** Encoded texts, which the denoiser reads: the prompt and, under guidance, the negative prompt. */
  texts: readonly TextStates[];
  /** Loads the denoiser's weights. `references`: latents of the images that it sees beside those it denoises, [1, height, width, channels], or of the clip of its frames. */
  load(references: readonly Tensor[]): Promise<DenoiserPage>;
}

/** The images of a clip's first and last frame that a model takes. */
export interface FrameImages {
  first: 'may' | 'must';
  last: 'never' | 'may' | 'must';
  /**
   * What the autoencoder encodes: a clip that is grey where no image is given, or the first image alone. `sample`: the same, of whose latents
   * each result has a sample; `extra` of a recorded step holds it.
   */
  encoded: 'clip' | 'image' | 'sample';
  /** Whether the sample is drawn behind the noise of the latents; left out: before it. */
  samplesLast?: boolean;
}

/** What is known of a request when its values are resolved. */
export interface CheckedRequest extends Pick<
  RunRequest,
  'values' | 'sources' | 'call' | 'maxSequenceLength'
> {
  /** Whether it gives an image to draw from. */
  hasImage: boolean;
}

/** A model of a family, opened on the components of one pipeline. */
export interface FamilyModel {
  /** Channels of the latents that it denoises. */
  latentChannels: number;
  /** Latents along one side of a token, where the configuration tells it; left out: as in all models of the family. */
  patch?: number;
  /** How the denoiser takes a mask and the image without the masked part beside the latents; false: it is not made for inpainting. */
  fillsMasks: MaskInput | false;
  /** Size of the latents in training; null: the files do not say. */
  sampleSize: { height: number; width: number } | null;
  /** Number of layers of a CLIP text encoder that clip skip may leave out; 0 without CLIP. */
  mostClipSkip: number;
  /** Layers at the end of a CLIP text encoder that are never read: 1 in Stable Diffusion XL. */
  unreadClipLayers: number;
  /** Whether it has an IP-Adapter, which takes an image; left out: it has none. */
  takesImagePrompt?: boolean;
  /** Number of ControlNets, each of which takes an image; left out: none. */
  controls?: number;
  /** Whether the guidance scale has no effect, because the model is distilled to a few steps without it. */
  ignoresGuidance?: boolean;
  /** The images of a clip's frames that it takes; left out: none. */
  frameImages?: FrameImages;
  /** Whether its control image enters as latents beside those that are denoised, instead of through ControlNets. */
  seesControl?: boolean;
  /** Returns the size in which an image is drawn before it is scaled and cut to the size that is asked for; left out, or null: that size. */
  drawnSize?(size: Size): Size | null;
  /** Returns the noise that the decoder is to remove, which is drawn behind all other noise; left out: none. */
  leftNoise?(call: CallArguments): { time: number; share: number };
  /** Returns true if the guidance scale, or a call argument, requires a second pass with the negative prompt. */
  guides(guidance: number, call: CallArguments): boolean;
  ranks?: RankRules;
  /** Published settings of TeaCache for the model; left out, or null: none. */
  teacache?(size: Size): TeaCacheDefaults | null;
  /** Whether `record` takes several images at once, which may have prompts of their own; a string: why it takes one. Left out: one. */
  batches?(request: Pick<RunRequest, 'values' | 'call'>): true | string;
  /** Returns notes on call arguments of a request that change nothing; left out: none. */
  notesOn?(request: Pick<RunRequest, 'values' | 'sources' | 'call'>): Prose[];
  /** Throws bad_request for a request that this model cannot honour; called when the request's values are resolved. */
  checkRequest?(request: CheckedRequest): void;
  /** Throws bad_checkpoint if weights do not match the configurations, or a tokenizer is damaged. */
  checkFiles(): Promise<void>;
  prepare(request: RunRequest): Promise<Prepared>;
}

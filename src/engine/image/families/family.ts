// An image family is one value: the pipeline classes of diffusers that it answers to, their components and call arguments, defaults and
// the hints that they are taken from, the shape of its latents, and the model itself. Everything else in the engine reads this
// declaration; a family is added by declaring it and listing it in registry.ts.

import { type Prose } from '../../../files/message.ts';
import type {
  ComponentClasses,
  PipelineComponents,
  PipelineTask,
} from '../../../files/pipeline/pipeline-classes.ts';
import type { Pipeline, PipelineComponent } from '../../../files/pipeline/pipeline-index.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import type { Json } from '../../../models/config-values.ts';
import type { Autoencoder } from '../autoencoder.ts';
import type { CallArguments, CallArgumentTable } from '../call-arguments.ts';
import type { ComponentAccess } from '../components.ts';
import type { ComputeOptions } from '../compute.ts';
import type { Predictor } from '../denoiser.ts';
import type { ImageEvent, ImageRequest, ResolvedImageRequest } from '../image-model.ts';

export type { ComponentClasses, PipelineComponents, PipelineTask };

export interface ImageFamily {
  /** The family's name in messages, as in stable-diffusion-xl. */
  readonly name: string;
  /** Published models, for the table in src/models/README.md. */
  readonly examples?: string;
  /** Matches model ids of the family. */
  readonly modelIds: RegExp;
  readonly components: PipelineComponents;
  /** Component that denoises. */
  readonly denoiser: string;
  /** Component that holds the autoencoder. */
  readonly autoencoder: string;
  /** Reads the configuration of the autoencoder. Throws bad_checkpoint and unsupported. */
  readAutoencoder(component: PipelineComponent): Autoencoder;
  readonly latents: LatentLayout;
  /** The first set's text-to-image class stands for the whole family. */
  readonly pipelines: readonly PipelineSet[];
  /** Values where neither the files nor the name of a model say more. */
  readonly defaults: FamilyDefaults;
  /** Defaults by words in a model's name; the first match counts. */
  readonly namedDefaults: readonly (readonly [words: RegExp, defaults: FamilyDefaults])[];
  /** Defaults that the files of a model imply. */
  defaultsOf?(components: ComponentFiles): ImpliedDefaults;
  /** Request fields that only some families take; families that do not declare one of them refuse it. */
  readonly takes: readonly (keyof ImageRequest)[];
  /** Prompts may emphasize words, as (word:1.2). */
  readonly readsEmphasis: boolean;
  /** Flow models: sigmas before the shift that diffusers' pipelines pass to the schedule; null: the schedule makes its own. */
  readonly sigmas: ((steps: number) => number[]) | null;
  /** Reads the configurations of the components; no weights. Throws bad_checkpoint and unsupported. */
  open(components: ComponentAccess, pipeline: Pick<Pipeline, 'settings'>): FamilyModel;
}

/** Latents as the denoiser takes them; channels come from its configuration, pixels per latent from the autoencoder. */
export interface LatentLayout {
  /** Latents along a side of one token. */
  patch: number;
  /** Frames of one result: 1 for images. */
  frames: number;
}

export type ComponentFiles = Readonly<Record<string, Pick<PipelineComponent, 'className' | 'config'>>>;

/** Steps, guidance and the side of a square image in pixels. */
export interface FamilyDefaults {
  steps?: number;
  guidance?: number;
  size?: number;
}

/** Defaults with the hint that they are taken from, in words that follow "by". */
export interface DefaultsFrom {
  defaults: FamilyDefaults;
  from: string;
}

/** `certain` holds whatever the model's name says, `likely` where the name says nothing; `hint` is a note for the user instead of a value. */
export interface ImpliedDefaults {
  certain?: DefaultsFrom;
  likely?: DefaultsFrom;
  hint?: Prose;
}

/**
 * Steps that a strength leaves, as in diffusers. `floor`: a part of a step counts as none. `ceil`: it counts as one. `spread`: all steps
 * are taken, within that share of the timesteps of a distillation; `floor` for schedules without one.
 */
export type StrengthRule = 'floor' | 'ceil' | 'spread';

/** Pipeline classes that share everything but their task. A task without a class runs as the nearest one that has one. */
export interface PipelineSet {
  readonly classes: Readonly<Partial<Record<PipelineTask, string>>> & { 'text-to-image': string };
  readonly strength: StrengthRule;
  /** Call arguments of the class for a task, under diffusers' names. */
  callArguments(task: PipelineTask, model: CalledModel): CallArgumentTable;
  /** Defaults of all models of these classes. */
  readonly defaults?: FamilyDefaults;
  /** scheduler_config.json with the corrections that diffusers' classes make in it. */
  correctScheduler?(config: Json, task: PipelineTask): Json;
}

/** Facts about an opened model that decide which call arguments it takes. */
export interface CalledModel {
  /** Names of the model's components. */
  components: readonly string[];
  /** The other entries of model_index.json. */
  settings: Readonly<Record<string, unknown>>;
}

export interface RunRequest {
  prompt: string;
  values: ResolvedImageRequest;
  sources: Extract<ImageEvent, { type: 'resolved' }>['sources'];
  call: CallArguments;
  /** Most tokens of a prompt that are read; left out: the family's own limit. */
  maxSequenceLength?: number;
  options: ComputeOptions;
}

/** The denoiser, its weights on the device until it is disposed. */
export interface DenoiserPage extends Disposable {
  /** Records a step on latents and output; `extra` holds the further channels of an inpainting UNet. */
  record(latents: Tensor, output: Tensor, extra: Tensor | null, options: ComputeOptions): Promise<Predictor>;
}

/** An encoded prompt, on the device until it is disposed. */
export interface Prepared extends Disposable {
  /** Tokens of the prompt. */
  tokens: number;
  /** Brings the denoiser's weights to the device. */
  load(): Promise<DenoiserPage>;
}

/** A model of a family, opened on the components of one pipeline. */
export interface FamilyModel {
  /** Channels of the latents that it denoises. */
  latentChannels: number;
  /** Made to fill masks: beside the latents it takes a mask and the image without the masked part. */
  fillsMasks: boolean;
  /** Latents that the model was trained at; null: its files do not say. */
  sampleSize: { height: number; width: number } | null;
  /** Layers of a CLIP text encoder that may be left out; 0 where there is no CLIP. */
  mostClipSkip: number;
  /** Layers at the end of a CLIP text encoder that are never read: 1 in Stable Diffusion XL. */
  unreadClipLayers: number;
  /** Whether a pass without the prompt is made, to guide by. */
  guides(guidance: number): boolean;
  /** Throws bad_request for a request that this model cannot honour; called once its values are decided. */
  checkRequest?(request: Pick<RunRequest, 'values' | 'sources' | 'call'>): void;
  /** Throws bad_checkpoint where weights are not those that the configurations ask for, or a tokenizer is broken. */
  checkFiles(): Promise<void>;
  /** Encodes the prompt and, where guidance is on, the negative prompt. */
  prepare(request: RunRequest): Promise<Prepared>;
}

// Types for resolving an image request: the pipeline's part, and the request with every value resolved.

import type { AppliedLora } from '../lora/image-loras.ts';
import type { CallArguments } from '../calls/call-arguments.ts';
import type { ControlInputs } from '../calls/control.ts';
import type { CalledModel, FamilyModel, FrameImages } from '../blocks/family.ts';
import type { PipelineEntry } from '../families/registry.ts';
import type { ImageEvent, CompleteImageRequest, ResolvedImageRequest } from '../calls/image-model.ts';

/** Defaults of a model. */
export interface ModelDefaults {
  width: number;
  height: number;
  frames?: number | undefined;
  fps?: number | undefined;
  steps?: number | undefined;
  guidance?: number | undefined;
  negativePrompt?: string | undefined;
  /** Hints from which values were taken, for values that no file states. */
  defaultsFrom?: Readonly<Partial<Record<keyof ResolvedImageRequest, string>>>;
}

export interface ResolveContext extends ControlInputs {
  pipeline: PipelineEntry;
  model: CalledModel;
  /** Width and height must be multiples of this number. */
  sizeMultiple: number;
  /** Frames that a latent frame after a clip's first stands for; null: the model draws images. */
  framesPerLatent: number | null;
  defaults: ModelDefaults;
  backend: ResolvedImageRequest['backend'];
  /** Values of `scheduler`; the first is the checkpoint's own. */
  schedulers: readonly string[];
  /** Returns this engine's name of a requested scheduler; throws bad_request for one that this checkpoint does not take. */
  schedulerOf(name: string): string;
  /** Returns the number of steps that listed timesteps or sigmas imply for a schedule; undefined: none are listed. */
  stepsOf(call: CallArguments, scheduler: string): number | undefined;
  /** Number of text encoder layers that clip skip may leave out; 0: the family has no clip skip. */
  mostClipSkip: number;
  /** The images of a clip's frames that the model takes; null: none. */
  frameImages: FrameImages | null;
  /** Whether the autoencoder that the user gives encodes no images; left out: it does. */
  decodesOnly?: true;
  /** Whether the model only fills masks. */
  needsMask: boolean;
  /** Words of prompts with embeddings of their own; left out: none. */
  words?: readonly string[];
  /** Whether the model has an IP-Adapter. */
  takesImagePrompt: boolean;
  /** Scale of the network that enlarges results; null: there is none. */
  upscaling: number | null;
  checkRequest?: FamilyModel['checkRequest'];
  /** Throws bad_request for steps that cannot reuse as they are asked to; left out: they are not asked. */
  checkReuse?(resolved: Pick<Resolved, 'request' | 'event'>): void;
}

export interface Resolved {
  event: Extract<ImageEvent, { type: 'resolved' }>;
  request: CompleteImageRequest;
  call: CallArguments;
  /** Images that are drawn at once, by families that batch them; left out: 1. */
  batch?: number;
  /** LoRA that changes the weights; left out: none. */
  loras?: readonly AppliedLora[];
}

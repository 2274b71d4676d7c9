// The public interface of an image model: requests in, events out. Everything here is plain data that can be posted to a worker.

import type { AttentionKernels } from '../../../gpu/adapter-profile.ts';
import { type Note } from '../../../files/message.ts';
import type { AdapterSummary } from '../../../gpu/adapter.ts';
import type { Frames, Pixels } from '../../../files/image/pixels.ts';
import type { IMAGE_MODEL } from '../../../options/image-model.ts';
import type { IMAGE_SAMPLING } from '../../../options/image-request.ts';
import type { MODEL_SETTINGS } from '../../../options/model.ts';
import type { ForModels, SettingValues } from '../../../options/setting.ts';
import type { Quantization } from '../../opening/open-event.ts';
import type { ImageMemoryPlan, StageName } from './memory-plan.ts';

export type { Frames, Pixels, StageName };

/** Sides in pixels. */
export type Size = Pick<Pixels, 'width' | 'height'>;

/** `svc`: tuned kernels; `generic`: plain f32 kernels; `auto`: `svc`, which runs every pipeline and call argument that `generic` runs. */
export type Backend = 'auto' | 'svc' | 'generic';

export interface ImageModelOptions
  extends SettingValues<ForModels<typeof MODEL_SETTINGS, 'image'>>, SettingValues<typeof IMAGE_MODEL> {
  /** Path of a model folder, or hub id. */
  model: string;
  /** Values of a request that follows: wrong ones are refused before weights are downloaded or read. */
  firstRequest?: FirstRequest;
  /** Which of `dpSize` replicas this model is, from 0; the host sets it. */
  replica?: number;
}

/** Values of a request that a model's configurations alone can judge. */
export type FirstRequest = Pick<ImageRequest, 'width' | 'height' | 'scheduler'>;

/** An image of a request: the bytes of a PNG, JPEG, WebP or BMP file, or pixels. */
export type ImageInput = Uint8Array | Pixels;

/** A left-out value is taken from the model's own defaults, else from the contract's (50 steps, guidance 7.5). */
export interface ImageRequest extends SettingValues<typeof IMAGE_SAMPLING> {
  prompt: string;
  /** Sample i uses seed + i. Left out: a random one, which the event of each image tells. */
  seed?: number;
  /** Image-to-image: the source image, which is scaled to the output's size. Models that edit see it beside what they draw. */
  image?: ImageInput;
  /** Further images, before `image`, of models that edit several. With a mask the model fills `image`, and sees the others. */
  furtherImages?: readonly ImageInput[];
  /** Image with which a clip ends that starts from `image`. */
  lastImage?: ImageInput;
  /** Inpainting: white areas are redrawn. */
  mask?: ImageInput;
  /** Image that an IP-Adapter shows to the denoiser beside the text. */
  ipAdapterImage?: ImageInput;
  /** Images that steer ControlNets, one for each, which are scaled to the output's size. */
  controlImages?: readonly ImageInput[];
  /** Limit on the previews of each image, which are spread evenly over its steps; Infinity: one after every step but the last. */
  previews?: number;
  /** Call arguments of the diffusers pipeline, under diffusers' names. */
  kwargs?: Readonly<Record<string, unknown>>;
}

type ImageFields = 'image' | 'furtherImages' | 'lastImage' | 'mask' | 'ipAdapterImage' | 'controlImages';

/** A request with a seed, and with decoded images. */
export interface CompleteImageRequest extends Omit<ImageRequest, ImageFields> {
  seed: number;
  image?: Pixels;
  furtherImages?: readonly Pixels[];
  lastImage?: Pixels;
  mask?: Pixels;
  ipAdapterImage?: Pixels;
  controlImages?: readonly Pixels[];
}

/** Source of a resolved value; `image`: a size that follows from the image to start from. */
export type ValueSource = 'request' | 'image' | 'model' | 'contract' | 'kwargs';

export interface ResolvedImageRequest {
  width: number;
  height: number;
  /** Frames of each result: 1 for images. */
  frames: number;
  /** Frames in a second of a clip; null: the model draws images. */
  fps: number | null;
  steps: number;
  guidance: number;
  guidanceRescale: number;
  negativePrompt: string;
  scheduler: string;
  strength: number | null;
  clipSkip: number;
  samples: number;
  generatorDevice: 'cpu' | 'cuda';
  /** How many times as wide and as high results are as what is drawn; null: they are not enlarged. */
  upscalingScale: number | null;
  backend: Exclude<Backend, 'auto'>;
}

export type ImageEvent =
  /** The first event: the resolved values, and the source of each. */
  | {
      type: 'resolved';
      values: ResolvedImageRequest;
      sources: Readonly<Record<keyof ResolvedImageRequest, ValueSource>>;
      /** The property of a model that implies a value, for values that none of its files states. */
      reasons: Readonly<Partial<Record<keyof ResolvedImageRequest, string>>>;
      /** Requests of equal keys that wait at one time are drawn together, up to `most` images; left out: the request is drawn alone. */
      joins?: { key: string; most: number };
    }
  /**
   * Words of the prompts that are not in the model's word list, if it has one. `known` maps plurals among them to singulars in the
   * list.
   */
  | { type: 'unknown-words'; words: string[]; known?: Record<string, string> }
  | Note
  /** Inputs of the denoiser: tokens of the prompt, of the source image, and of each image that it generates. */
  | { type: 'tokens'; text: number; image: number; each: number }
  /** `attention`: the kernels that computed dense attention in it. */
  | {
      type: 'stage';
      name: StageName;
      milliseconds: number;
      peakBytes: number;
      attention: readonly AttentionKernels[];
    }
  /**
   * After step `step` of `steps`, counted from 1. `milliseconds`: of all results that take it together. `reused`: where steps may reuse what others
   * computed, the share of its passes that did, of those that the first device has.
   */
  | { type: 'step'; sample: number; step: number; steps: number; milliseconds: number; reused?: number }
  | { type: 'preview'; sample: number; step: number; image: Frames }
  /** `replica`: the one that drew it, of a model that is several. */
  | { type: 'image'; sample: number; seed: number; image: Frames; replica?: number }
  /** Bytes that the ranks of a model exchanged for this request, and how long the first rank waited for them; models of one rank leave it out. */
  | { type: 'exchange'; ranks: number; calls: number; bytes: number; milliseconds: number }
  /** GPU milliseconds per kernel if the request sets `profile`, and the milliseconds spent on measuring, which belong to no stage. */
  | { type: 'kernels'; milliseconds: Readonly<Record<string, number>>; spent: number }
  | { type: 'done'; milliseconds: number };

export interface ImageModelInfo {
  readonly kind: 'image';
  path: string;
  name: string;
  /** Pipeline class in model_index.json. */
  pipeline: string;
  /** Class of the denoiser's component. */
  denoiser: string;
  parameters: number;
  quantization: Exclude<Quantization, 'auto'>;
  /** Codes and rank of a denoiser whose weights have a low-rank part; left out: they have none. */
  svdquant?: string;
  backend: Exclude<Backend, 'auto'>;
  /** Width and height must be multiples of this number. */
  sizeMultiple: number;
  /** The number of frames of a clip exceeds one by a multiple of this number; null: the model draws images. */
  frameMultiple: number | null;
  /** Layers at the end of a CLIP text encoder that the model never reads, beside those that `clipSkip` leaves out. */
  unreadClipLayers: number;
  /** `frames` and `fps`: of models that draw clips. */
  defaults: {
    width: number;
    height: number;
    frames?: number;
    fps?: number;
    steps: number;
    guidance: number;
    negativePrompt: string;
  };
  /** Values of `scheduler`; the first is the checkpoint's own. */
  schedulers: string[];
  /** Components of model_index.json with their classes. */
  components: Readonly<Record<string, string>>;
  /** Number of words in the model's word list; null without one. */
  words: number | null;
  supports: {
    imageToImage: boolean;
    inpainting: boolean;
    negativePrompt: boolean;
    /** Number of images that the model edits at once, which it sees in sizes of its own; 0: it starts from one image. */
    edits: number;
  };
  /**
   * LoRAs that requests may name: those that were given with the model, and whether there is a folder (`loraDir`) with others; left out:
   * there are none.
   */
  loras?: { given: { name: string; scale: number }[]; hasFolder: boolean };
  /** `weights`: bytes of the stored weights; on the device they take less where they are quantized, and more in Winograd's form. */
  memory: { budget: number; weights: number };
  /** The network that enlarges results, by the path that was given, and its own scale; null: none was given. */
  upscaler: { path: string; scale: number } | null;
  adapter: AdapterSummary;
}

export interface ImageModel {
  readonly info: ImageModelInfo;
  /** Resolves with the reason once the model no longer answers: it was closed, or its worker thread has ended. */
  readonly ended: Promise<Error>;
  /** Whether the model has left the device because it was idle (`sleepAfter`); the next request loads it again. */
  readonly asleep: boolean;
  /** Checks a request as `generate` would and resolves its values; throws EngineError. */
  resolve(request: ImageRequest): Promise<Extract<ImageEvent, { type: 'resolved' }>>;
  /** Plans the memory of a request without drawing it; throws EngineError, out_of_memory with the smallest change that fits. */
  plan(request: ImageRequest): Promise<ImageMemoryPlan>;
  /**
   * Runs up to `steps` steps of a request and discards the result; with 0 steps only the kernels are compiled. `tune` finds the
   * fastest tiling of each product of the denoiser on this adapter and keeps it on disk; it does not change images.
   */
  warmUp(request: ImageRequest, steps: number, options?: { tune?: boolean }): Promise<void>;
  /** Draws the images of a request. Throws EngineError; ends with `cancelled` within one step when `signal` aborts. */
  generate(
    request: ImageRequest,
    options?: { signal?: AbortSignal; profile?: boolean },
  ): AsyncGenerator<ImageEvent, void, void>;
  close(): Promise<void>;
  /** Calls `close` at the end of an `await using` scope. */
  [Symbol.asyncDispose](): Promise<void>;
}

// What a family of models adds to the common run: how a prompt becomes what the denoiser is told, and how the denoiser is
// recorded.

import type { Tensor } from '../../gpu/tensor.ts';
import type { ComputeOptions } from './compute.ts';
import type { Predictor } from './denoise.ts';
import type { ImageEvent, ResolvedImageRequest } from './image-model.ts';
import type { CallArguments } from './kwargs.ts';

export interface RunRequest {
  prompt: string;
  values: ResolvedImageRequest;
  sources: Extract<ImageEvent, { type: 'resolved' }>['sources'];
  call: CallArguments;
  /** Tokens of a prompt that are read, where a request says. */
  maxSequenceLength?: number;
  options: ComputeOptions;
}

/** Records the denoiser on latents and output; `extra` holds the further channels of an inpainting UNet. */
export type RecordPredictor = (
  latents: Tensor,
  output: Tensor,
  extra: Tensor | null,
  options: ComputeOptions,
) => Promise<Predictor>;

/** A prompt, encoded. */
export interface Prepared {
  /** Of the prompt. */
  tokens: number;
  /** The denoiser's weights are on the device while `body` runs. */
  use<T>(body: (record: RecordPredictor) => Promise<T>): Promise<T>;
  free(): void;
}

export interface Runner {
  /** Of the latents that it denoises. */
  latentChannels: number;
  /** Made to fill masks: beside the latents it takes a mask and the image without what is drawn anew. */
  fillsMasks: boolean;
  /** Latents that the model was trained at. */
  sampleSize: { height: number; width: number } | null;
  /** CLIP layers that may be left out; 0 where there is no CLIP. */
  mostClipSkip: number;
  /** Nothing is unwanted where nothing is said, not the empty text. */
  zerosNegative: boolean;
  /** Whether a pass without the prompt is made, to guide by. */
  guides(guidance: number): boolean;
  /** What flow schedules go by: an image's tokens, and sigmas before the shift; null for others. */
  flow: { tokens(height: number, width: number): number; sigmas(steps: number): number[] } | null;
  /** Throws bad_checkpoint where weights are not those that the configurations ask for, or a tokenizer is broken. */
  checkFiles(): Promise<void>;
  prepare(request: RunRequest): Promise<Prepared>;
}

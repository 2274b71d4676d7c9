// Types that the readers of media share: bounds, and how a model's processor takes a video.

import type { Pixels } from '../image/pixels.ts';
import type { VideoSource } from './decoded.ts';

/** What becomes of transparency: pixels keep their colours, as in most processors, or are laid over white. */
export type AlphaRule = 'dropped' | 'white';

/** Limits on one medium; settings of options/media.ts. */
export interface MediaBounds {
  maxImagePixels: number;
  maxVideoPixels: number;
  maxVideoFrames: number;
  maxMediaSeconds: number;
  /** Milliseconds that decoding may take. */
  mediaDecodeTimeout?: number;
}

/** How a model takes a video; pure functions. */
export interface FrameChoice {
  alpha?: AlphaRule;
  /** Indices of the frames to take; default: all. A frame that is taken twice is decoded once. */
  frames?(source: VideoSource): readonly number[];
  /** Applied to each frame when it is decoded, so that only small frames stay in memory. */
  fit?(frame: Pixels, source: VideoSource): Pixels;
}

// The memory plan of an image as plain data: where the weights of each component are, and the peak of each stage.

export type StageName = 'text-encoding' | 'image-encoding' | 'denoising' | 'decoding' | 'upscaling';

/** Roles of components with weights, in the order in which they leave the device where memory is short. */
export const ROLES = ['upscaler', 'text encoder', 'image encoder', 'autoencoder', 'denoiser'] as const;
export type MemoryRole = (typeof ROLES)[number];

export interface PlacedComponent {
  name: string;
  className: string;
  role: MemoryRole;
  /** Bytes of its weights as computed with. */
  weights: number;
  /**
   * `resident`: on the device all the time; `loaded`: read from its files for the stages that use it; `offloaded`: copied from host
   * memory for those; `streamed`: layers are copied from host memory, or read from a file, as they are computed.
   */
  place: 'resident' | 'loaded' | 'offloaded' | 'streamed';
  /** Bytes of a streamed component that are on the device for the whole stage; left out for others. */
  onDevice?: number;
  /** Bytes of a streamed component that are read from a file, because host memory has no room for them; left out for others. */
  fromFile?: number;
}

export interface ImageMemoryPlan {
  budget: number;
  /** Results that are drawn at once. */
  batch: number;
  /** Most bytes on the device at one time. */
  peak: number;
  /** Most bytes of weights in host memory, with those on their way from a file. */
  host: number;
  stages: readonly { name: StageName; bytes: number }[];
  components: readonly PlacedComponent[];
  /** Layers that are copied ahead of their turn; null: nothing is streamed. */
  prefetch: number | null;
}

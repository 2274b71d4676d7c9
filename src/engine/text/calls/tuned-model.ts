// The result of tuning a language model. It has a file of its own so that the published types do not import WebGPU's.

export interface TunedModel {
  /** Number of products and attentions that were timed: of each shape, for steps of each capacity. 0: all were tuned before. */
  kernels: number;
  /** Number of those whose fastest tiles are not the default ones. */
  changed: number;
  /** Milliseconds of all of them with their default tiles, and with the fastest. */
  before: number;
  after: number;
  /** Whether all variants were timed; otherwise the time for the search was over. */
  isWhole: boolean;
}

/** Standard normal numbers; each call goes on where the last one ended. */
export interface NoiseStream {
  /** Numbers in the order of torch's tensor (batch, channel, row, column). */
  normals(count: number): Float32Array;
}

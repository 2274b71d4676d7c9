// torch's random streams in software, so that a seed gives diffusers' noise on any GPU: what torch.Generator(device) with
// manual_seed(seed) gives torch.randn in f32. `seed` is a whole number of at least 0.

/** Standard normal numbers; each call goes on where the last one ended. */
export interface NoiseStream {
  /** In the order of torch's tensor (batch, channel, row, column). */
  normals(count: number): Float32Array;
}

export { cpuNoise } from './noise-cpu.ts';
export { A100, cudaNoise, type LaunchLimits } from './noise-cuda.ts';

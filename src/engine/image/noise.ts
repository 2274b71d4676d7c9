// torch's random streams in software, so that a seed gives diffusers' noise on any GPU.

import { cpuNoise } from './noise-cpu.ts';
import { cudaNoise } from './noise-cuda.ts';

/** Standard normal numbers; each call goes on where the last one ended, as torch.randn with one generator does. */
export interface NoiseStream {
  /** In the order of torch's tensor (batch, channel, row, column), f32. */
  normals(count: number): Float32Array;
}

/** torch.Generator(device).manual_seed(seed); `seed`: a whole number of at least 0. */
export function createNoise(device: 'cpu' | 'cuda', seed: number): NoiseStream {
  return device === 'cpu' ? cpuNoise(seed) : cudaNoise(seed);
}

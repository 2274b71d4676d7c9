// torch's random streams in software, so that a seed gives diffusers' noise on any GPU: what torch.Generator(device) with
// manual_seed(seed) gives torch.randn in f32. `seed` is a whole number of at least 0.

export { cpuNoise } from './noise-cpu.ts';
export { A100, cudaNoise, type LaunchLimits } from './noise-cuda.ts';
export type { NoiseStream } from './noise-stream.ts';

// torch's random streams in software, so that a seed gives diffusers' noise on any GPU: the numbers that torch.randn returns in f32
// with torch.Generator(device) after manual_seed(seed). `seed` is a whole number of at least 0.

export { cpuNoise } from './noise-cpu.ts';
export { A100, cudaNoise, type LaunchLimits } from './noise-cuda.ts';
export type { NoiseStream } from './noise-stream.ts';

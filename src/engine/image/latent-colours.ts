// Linear maps from latents to colours, for previews while the decoder is not on the device. The numbers are fits to each
// autoencoder that circulate with ComfyUI and diffusers; each row is a channel, the last one the offset.

import type { LatentScales } from '../../kernels/latents.ts';

type Colour = readonly [red: number, green: number, blue: number];

const STABLE_DIFFUSION: readonly Colour[] = [
  [0.3512, 0.2297, 0.3227],
  [0.325, 0.4974, 0.235],
  [-0.2829, 0.1762, 0.2721],
  [-0.212, -0.2616, -0.7177],
  [0, 0, 0],
];

const XL: readonly Colour[] = [
  [0.3651, 0.4232, 0.4341],
  [-0.2533, -0.0042, 0.1068],
  [0.1076, 0.1111, -0.0362],
  [-0.3165, -0.2492, -0.2188],
  [0.1084, -0.0175, -0.0011],
];

const FLUX: readonly Colour[] = [
  [-0.0346, 0.0244, 0.0681],
  [0.0034, 0.021, 0.0687],
  [0.0275, -0.0668, -0.0433],
  [-0.0174, 0.016, 0.0617],
  [0.0859, 0.0721, 0.0329],
  [0.0004, 0.0383, 0.0115],
  [0.0405, 0.0861, 0.0915],
  [-0.0236, -0.0185, -0.0259],
  [-0.0245, 0.025, 0.118],
  [0.1008, 0.0755, -0.0421],
  [-0.0515, 0.0201, 0.0011],
  [0.0428, -0.0012, -0.0036],
  [0.0817, 0.0765, 0.0749],
  [-0.1264, -0.0522, -0.1103],
  [-0.028, -0.0881, -0.0499],
  [-0.1262, -0.0982, -0.0778],
  [-0.0329, -0.0718, -0.0851],
];

/** Latent spaces by what their autoencoders say of themselves. */
const SPACES: readonly [channels: number, scale: number, colours: readonly Colour[]][] = [
  [4, 0.18215, STABLE_DIFFUSION],
  [4, 0.13025, XL],
  [16, 0.3611, FLUX],
];

/** Factors as the kernel takes them; null for a latent space nobody has fitted. */
export function colourFactors(channels: number, scales: LatentScales): Float32Array | null {
  const [all, ...others] = scales;
  if (!all || others.length > 0) return null;
  const space = SPACES.find(([count, own]) => count === channels && Math.abs(own - all.scale) < 1e-6);
  return space ? Float32Array.from(space[2].flatMap((colour) => [...colour, 0])) : null;
}

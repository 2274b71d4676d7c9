// Linear maps from latents to colours, for previews. The numbers are the fits to each autoencoder that ComfyUI and diffusers use;
// each row is a channel, the last one the offset. A model made for this engine has its own map in previews.safetensors, with a
// patch of pixels for each latent: `patches` f32 [channels + 1, side, side, 3].

import { openShards } from '../../../files/checkpoint/shards.ts';
import { badCheckpoint } from '../../../files/error.ts';
import { refuseDamaged } from '../../weights/damaged.ts';
import type { Folder } from '../../../files/source.ts';
import type { LatentScales } from '../../../kernels/latents.ts';

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

/** Latent spaces, identified by their autoencoders' channels and scale. */
const SPACES: readonly [channels: number, scale: number, colours: readonly Colour[]][] = [
  [4, 0.18215, STABLE_DIFFUSION],
  [4, 0.13025, XL],
  [16, 0.3611, FLUX],
];

/** Linear map from latents to colours, in the layout of the kernel. */
export interface ColourMap {
  factors: Float32Array;
  /** Side of the square patch of pixels that each latent becomes. */
  side: number;
}

/** The map for a latent space; null if none is known. */
export function colourMap(channels: number, scales: LatentScales): ColourMap | null {
  const [all, ...others] = scales;
  if (!all || others.length > 0) return null;
  const space = SPACES.find(([count, own]) => count === channels && Math.abs(own - all.scale) < 1e-6);
  return space ? { factors: inQuads(space[2].flat()), side: 1 } : null;
}

const FILE = 'previews.safetensors';

/** Returns the model's own map, or null without one. Throws bad_checkpoint for a map that does not fit its latents. */
export async function ownColourMap(
  folder: Folder,
  { latentChannels, factor }: { latentChannels: number; factor: number },
): Promise<ColourMap | null> {
  const names = await folder.names();
  if (!names.includes(FILE)) return null;
  const { tensors, sources, path } = await openShards(folder, names, FILE);
  try {
    const { patches } = Object.fromEntries(tensors);
    const [rows, side = 0, columns, colours] = patches?.shape ?? [];
    const fits =
      rows === latentChannels + 1 && side === columns && side >= 1 && side <= factor && colours === 3;
    if (!patches || patches.dtype !== 'F32' || !fits) {
      throw badCheckpoint(
        `${path} is not a map of ${latentChannels} channels to colours: leave it out, or fetch it again`,
        FILE,
      );
    }
    const { buffer } = await patches.source.read(patches.offset, patches.bytes);
    const colourValues = [...new Float32Array(buffer)];
    const nonFinite = colourValues.filter((value) => !Number.isFinite(value)).length;
    refuseDamaged([patches], [{ nonFinite, oversize: 0 }]);
    return { factors: inQuads(colourValues), side };
  } finally {
    await Promise.all(sources.map((source) => source.close()));
  }
}

/** Pads each colour to four values. */
function inQuads(colours: readonly number[]): Float32Array {
  return Float32Array.from({ length: (colours.length / 3) * 4 }, (_, i) =>
    i % 4 === 3 ? 0 : colours[Math.floor(i / 4) * 3 + (i % 4)]!,
  );
}

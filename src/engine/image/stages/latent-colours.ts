// Linear maps from latents to colours, for previews. A model made for this engine has its own map in previews.safetensors, with a
// patch of pixels for each latent: `patches` f32 [channels + 1, side, side, 3].

import { openShards } from '../../../files/checkpoint/shards.ts';
import { badCheckpoint } from '../../../files/error.ts';
import { refuseDamaged } from '../../weights/damaged.ts';
import type { Folder } from '../../../files/source.ts';
import type { LatentScales } from '../../../kernels/latents.ts';
import { SPACES } from './latent-spaces.ts';

/** Linear map from latents to colours, in the layout of the kernel. */
export interface ColourMap {
  factors: Float32Array;
  /** Side of the square patch of pixels that each latent becomes. */
  side: number;
}

/** The map for a latent space; null if none is known. */
export function colourMap(channels: number, scales: LatentScales): ColourMap | null {
  const [first, ...others] = scales;
  const space = SPACES.find(
    ({ channels: own, scale, areEach = false }) =>
      own === channels && areEach === others.length > 0 && Math.abs(scale - first!.scale) < 1e-6,
  );
  return space ? { factors: inQuads(space.colours.flat()), side: 1 } : null;
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

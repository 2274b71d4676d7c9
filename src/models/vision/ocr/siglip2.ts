// SigLIP 2's encoder, whose images have any number of patches along a side: learned positions of a square are resized to each grid as an image is,
// by triangles that are wider where the grid is smaller.

import { mixtureOf } from '../../../files/image/resample.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { joinRows } from '../../../kernels/copy-rows.ts';
import { linearAdd } from '../../../kernels/matmul.ts';
import { mixRows } from '../../../kernels/mix-rows.ts';
import type { MediaInput } from '../../media.ts';
import { tilesAtOnce } from '../../tile-turns.ts';
import type { WeightTable } from '../../weights.ts';
import type { SiglipConfig } from '../siglip-config.ts';
import { siglipLayers } from '../siglip.ts';

export type Siglip2Config = Omit<SiglipConfig, 'side'> & {
  /** Positions along a side of the table. */
  places: number;
  /** Whether the columns of a patch are channel by channel, in place of pixel by pixel. */
  byChannels: boolean;
};

/** Rows and columns of patches. */
export interface Siglip2Grid {
  rows: number;
  columns: number;
}

/** `down` mixes rows of the table, `across` then its columns; shares are f32, sources u32. */
interface PlaceInputs {
  down: { sources: Tensor; shares: Tensor };
  across: { sources: Tensor; shares: Tensor };
}

/** `name`: prefix of the tensors, which ends with a dot. */
export function siglip2(config: Siglip2Config, weights: WeightTable, name: string) {
  const { places, patch, hidden, ffn, byChannels } = config;
  const embed = weights.matrix(`${name}embeddings.patch_embedding.weight`, hidden, 3 * patch ** 2, {
    bias: true,
    ...(byChannels && { stored: [3, patch, patch] }),
  });
  const table = weights.table(`${name}embeddings.position_embedding.weight`, places ** 2, hidden);
  const encode = siglipLayers(config, weights, name);

  return {
    /** Images of so many patches that pass the layers together. */
    atOnce: (count: number): number => tilesAtOnce(count * Math.max(ffn, 3 * hidden)),
    /** Positions of a grid, [patches, hidden] */
    positions({ down, across }: PlaceInputs): Tensor {
      const tall = mixRows(table.on(down.sources.tape!), down.sources, down.shares); // [rows · places, hidden]
      return mixRows(tall, across.sources, across.shares);
    },
    /** patches [images, patches, 3 · patch²], all of one grid → [images, patches, hidden] */
    run(patches: Tensor, positions: Tensor): Tensor {
      const images = Array.from({ length: patches.shape[0] as number }, () => positions);
      return encode(linearAdd(patches, embed, joinRows(images, patches.shape.slice(0, -1) as number[])));
    },
  };
}

/** What `positions` reads, by its names with `key` before them. */
export function placeInputs(
  key: string,
  places: number,
  { rows, columns }: Siglip2Grid,
): Record<string, MediaInput> {
  const down = taps(mixtureOf('bilinear', places, rows));
  const across = taps(mixtureOf('bilinear', places, columns));
  const all = { rows: rows * places, columns: rows * columns };
  return {
    ...named(`${key}Down`, down.count, all.rows, (i, tap) => {
      const [row, column] = [Math.floor(i / places), i % places];
      return [down.source(row, tap) * places + column, down.share(row, tap)];
    }),
    ...named(`${key}Across`, across.count, all.columns, (i, tap) => {
      const [row, column] = [Math.floor(i / columns), i % columns];
      return [row * places + across.source(column, tap), across.share(column, tap)];
    }),
  };
}

/** The inputs of `placeInputs` on a tape. */
export const placesOn = (inputs: Readonly<Record<string, Tensor>>, key: string): PlaceInputs => ({
  down: { sources: inputs[`${key}DownSources`]!, shares: inputs[`${key}DownShares`]! },
  across: { sources: inputs[`${key}AcrossSources`]!, shares: inputs[`${key}AcrossShares`]! },
});

/** Mixtures that all have as many terms; the others have a share of nothing. */
function taps(mixtures: ReturnType<typeof mixtureOf>) {
  return {
    count: Math.max(...mixtures.map(({ weights }) => weights.length)),
    share: (i: number, tap: number): number => mixtures[i]!.weights[tap] ?? 0,
    source(i: number, tap: number): number {
      const { first, weights } = mixtures[i]!;
      return first + Math.min(tap, weights.length - 1);
    },
  };
}

function named(
  key: string,
  count: number,
  rows: number,
  term: (row: number, tap: number) => [source: number, share: number],
): Record<string, MediaInput> {
  const shape = [rows, count];
  const sources = new Uint32Array(rows * count);
  const shares = new Float32Array(rows * count);
  for (let i = 0; i < sources.length; i++) [sources[i], shares[i]] = term(Math.floor(i / count), i % count);
  return { [`${key}Sources`]: { shape, data: sources }, [`${key}Shares`]: { shape, data: shares } };
}

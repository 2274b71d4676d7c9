// InternVL 2.5, 3 and 3.5: images as tiles of a grid that follows their ratio, videos as frames of one tile each. Both layouts compute
// the same; they differ in names, in the configuration of the processors, in the choice of frames and in what templates print.

import type { Clip } from '../../../files/media/decoded.ts';
import type { Pixels } from '../../../files/image/pixels.ts';
import type { MediaFamily, MediaInput, Preparation } from '../../media.ts';
import { finished } from '../../preparation.ts';
import { placeMixtures } from '../interpolated-places.ts';
import { internTower } from './intern-vit.ts';
import { readInternVl, type InternVlConfig } from './internvl-config.ts';
import { segmentFrames, spacedFrames } from './internvl-frames.ts';
import { cutTiles, tilesOfGrid } from './internvl-tiles.ts';
import { closestGrid, tileBounds, type TileBounds } from '../tile-grid.ts';
import { gridTiles, tilePatches, type TileConfig } from '../tiles.ts';

const TOWER = 'tiles';
const IMAGE = '<image>';
const [START, TOKEN, END] = ['<img>', '<IMG_CONTEXT>', '</img>'];
/** Tiles of a video's frame, as in both programs. */
const FRAME_BOUNDS = { min: 1, max: 1 };

export const INTERNVL: MediaFamily = {
  classes: ['InternVLForConditionalGeneration', 'InternVLChatModel'],
  withoutProcessors: ['InternVLChatModel'],
  read(files) {
    const config = readInternVl(files);
    const isOriginal = config.tower.vit.layout === 'original';
    return {
      readers: {
        image: {
          placeholder: isOriginal ? IMAGE : TOKEN,
          // Templates of both layouts were published with either.
          otherPlaceholders: [isOriginal ? TOKEN : IMAGE],
          tiles: true,
          alpha: 'white',
          prepare: (image, limits) => preparedImage(config, image, tileBounds(limits, config.bounds)),
        },
        video: {
          placeholder: '<video>',
          frames: (source) =>
            isOriginal
              ? segmentFrames(source.frames, config.frames.most)
              : spacedFrames(source, config.frames),
          fit: (frame, _, limits) => finished(stripOf(config, frame, tileBounds(limits, FRAME_BOUNDS))),
          prepare: (clip, limits) => preparedClip(config, clip, tileBounds(limits, FRAME_BOUNDS)),
        },
      },
      towers: { [TOWER]: (weights) => internTower(config.tower, weights) },
      spans: false,
      // As the original program does with a question that names no place for them.
      mediaFirst: isOriginal,
    };
  },
};

function* preparedImage(config: InternVlConfig, image: Pixels, bounds: TileBounds): Preparation {
  const { whole, rows, tiles: values } = config;
  const grid = closestGrid(image, values.side, bounds);
  yield tilesOfGrid(grid, whole) * rows;
  const tiles = yield* cutTiles(image, { side: values.side, grid, whole });
  return yield* prepared(config, values, tiles, [START, tiles.length * rows, END]);
}

/** Frames of a clip are as they were filmed, or strips of their tiles where they are fitted. */
function* preparedClip(config: InternVlConfig, { frames, isFitted }: Clip, bounds: TileBounds): Preparation {
  const {
    whole,
    rows,
    tiles: { side },
  } = config;
  const counts = frames.map((frame) =>
    isFitted ? frame.height / side : tilesOfGrid(closestGrid(frame, side, bounds), whole),
  );
  yield counts.reduce((sum, count) => sum + count, 0) * rows;
  const tiles: Pixels[] = [];
  for (const [i, frame] of frames.entries()) {
    const strip = isFitted ? frame : yield* stripOf(config, frame, bounds);
    tiles.push(...gridTiles(strip, side, { columns: 1, rows: counts[i]! }));
  }
  const parts = counts.flatMap((count, i) => {
    const before = `${i === 0 ? '' : `${END}\n`}Frame${i + 1}: ${START}`;
    return [before, count * rows];
  });
  return yield* prepared(config, config.frameTiles, tiles, [...parts, END]);
}

/** The tiles of a frame, one below the other: small, however large the frame is. */
function* stripOf(config: InternVlConfig, frame: Pixels, bounds: TileBounds): Generator<void, Pixels, void> {
  const {
    whole,
    tiles: { side },
  } = config;
  const grid = closestGrid(frame, side, bounds);
  const tiles = yield* cutTiles(frame, { side, grid, whole, rowsFirst: resizesRowsFirst(config) });
  if (tiles.length === 1) return tiles[0]!;
  const data = new Uint8Array(tiles.length * tiles[0]!.data.length);
  for (const [i, tile] of tiles.entries()) data.set(tile.data, i * tile.data.length);
  return { width: side, height: tiles.length * side, data };
}

/** Transformers resizes frames by torchvision, the original program by Pillow. */
function resizesRowsFirst({ tower }: InternVlConfig): boolean {
  return tower.vit.layout === 'transformers';
}

function* prepared(
  config: InternVlConfig,
  values: TileConfig,
  tiles: readonly Pixels[],
  parts: readonly (string | number)[],
): Preparation {
  const { patch, side } = values;
  const count = (side / patch) ** 2;
  const patches = { shape: [tiles.length, count, 3 * patch ** 2], data: yield* tilePatches(tiles, values) };
  return {
    parts,
    token: TOKEN,
    tower: TOWER,
    inputs: { patches, ...placesOf(config, count) },
    layout: null,
  };
}

/** Inputs that interpolate the positions where tiles are not as large as the images of the training. */
function placesOf({ tower }: InternVlConfig, count: number): Record<string, MediaInput> {
  const { vit, side } = tower;
  const [from, to] = [Math.floor(vit.side / vit.patch), side / vit.patch];
  if (from === to || !vit.places) return {};
  const { sources, shares } = placeMixtures(from, to);
  const shape = [count, sources.length / count];
  return { sources: { shape, data: sources }, shares: { shape, data: shares } };
}

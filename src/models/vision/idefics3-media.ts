// Images of Idefics3 and SmolVLM: tiles, each behind a token for its row and column, and the whole image behind them. SmolVLM reads videos, too.

import type { Pixels } from '../../files/image/pixels.ts';
import type { MediaFamily, MediaFiles, MediaModel, VideoReader, Preparation } from '../media.ts';
import { readIdefics3, type Idefics3Config } from './idefics3-config.ts';
import { splitImage, tilesOfSplit } from './idefics3-tiles.ts';
import { idefics3Tower } from './idefics3.ts';
import { smolVlmVideoReader } from './smolvlm-video.ts';
import { readSmolVlmVideo } from './smolvlm-video-config.ts';
import type { TileGrid } from './tile-grid.ts';
import { tilePatches, type TileConfig } from './tiles.ts';

const TOWER = 'tiles';
const IMAGE = '<image>';
const [AROUND, WHOLE] = ['<fake_token_around_image>', '<global-img>'];

export const IDEFICS3: MediaFamily = {
  classes: ['Idefics3ForConditionalGeneration'],
  read: (files) => mediaModel(readIdefics3(files)),
};

export const SMOLVLM: MediaFamily = {
  classes: ['SmolVLMForConditionalGeneration'],
  read(files) {
    const config = readIdefics3(files);
    return mediaModel(config, videoReader(files, config));
  },
};

function mediaModel(config: Idefics3Config, video?: VideoReader): MediaModel {
  return {
    readers: {
      image: {
        placeholder: IMAGE,
        alpha: 'white',
        *prepare(image) {
          const rule = { ...config, side: config.tiles.side };
          yield tilesOfSplit(image, rule) * config.rows;
          const { tiles, grid } = yield* splitImage(image, rule);
          return yield* prepared(config.tiles, tiles, partsOf(grid, config.rows));
        },
      },
      ...(video && { video }),
    },
    towers: { [TOWER]: (weights) => idefics3Tower(config.tower, weights) },
    spans: false,
  };
}

function videoReader(files: MediaFiles, config: Idefics3Config): VideoReader {
  const video = readSmolVlmVideo(files, config);
  return smolVlmVideoReader(video, {
    frameParts: partsOf(null, config.rows),
    prepared: (tiles, parts) => prepared(video.tiles, tiles, parts),
  });
}

function* prepared(
  values: TileConfig,
  tiles: readonly Pixels[],
  parts: readonly (string | number)[],
): Preparation {
  const { patch, side } = values;
  const shape = [tiles.length, (side / patch) ** 2, 3 * patch ** 2];
  return {
    parts,
    token: IMAGE,
    tower: TOWER,
    inputs: { patches: { shape, data: yield* tilePatches(tiles, values) } },
    layout: null,
  };
}

function partsOf(grid: TileGrid | null, rows: number): (string | number)[] {
  const whole = [`${AROUND}${WHOLE}`, rows, AROUND];
  if (grid === null) return whole;
  const parts: (string | number)[] = [];
  let before = '';
  for (let row = 1; row <= grid.rows; row++) {
    for (let column = 1; column <= grid.columns; column++) {
      parts.push(`${before}${AROUND}<row_${row}_col_${column}>`, rows);
      before = '';
    }
    before = '\n';
  }
  return [...parts, `\n\n${whole[0]}`, ...whole.slice(1)];
}

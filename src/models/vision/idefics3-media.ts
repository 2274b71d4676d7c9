// Images of Idefics3 and SmolVLM: tiles, each behind a token for its row and column, and the whole image behind them.

import type { MediaFamily, MediaModel } from '../media.ts';
import { readIdefics3, type Idefics3Config } from './idefics3-config.ts';
import { splitImage } from './idefics3-tiles.ts';
import { idefics3Tower } from './idefics3.ts';
import type { TileGrid } from './tile-grid.ts';
import { tilePatches } from './tiles.ts';

const TOWER = 'tiles';
const IMAGE = '<image>';
const [AROUND, WHOLE] = ['<fake_token_around_image>', '<global-img>'];

export const IDEFICS3: MediaFamily = {
  classes: ['Idefics3ForConditionalGeneration', 'SmolVLMForConditionalGeneration'],
  read(files) {
    const config = readIdefics3(files);
    return {
      readers: {
        image: {
          placeholder: IMAGE,
          alpha: 'white',
          prepare(image) {
            const { tiles, grid } = splitImage(image, { ...config, side: config.tiles.side });
            const { patch, side } = config.tiles;
            const shape = [tiles.length, (side / patch) ** 2, 3 * patch ** 2];
            return {
              parts: partsOf(grid, config.rows),
              token: IMAGE,
              tower: TOWER,
              inputs: { patches: { shape, data: tilePatches(tiles, config.tiles) } },
              layout: null,
            };
          },
        },
      },
      towers: { [TOWER]: towerOf(config) },
      spans: false,
    };
  },
};

function towerOf({ tower }: Idefics3Config): MediaModel['towers'][string] {
  return (weights) => {
    const run = idefics3Tower(tower, weights);
    return ({ patches }) => [run(patches!)];
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

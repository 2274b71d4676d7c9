// Images of Gemma 3: the whole image in the tower's size, and behind it crops of a long one where the processor makes them. The tokens of
// an image see each other.

import type { Pixels } from '../../files/image/pixels.ts';
import { resampleInBands } from '../../files/image/resample.ts';
import type { MediaFamily, Preparation } from '../media.ts';
import { readGemma3, type Gemma3Config } from './gemma3-config.ts';
import { panAndScan } from './gemma3-crops.ts';
import { GEMMA3_PROJECTION, gemma3Tower, meanOfSquares } from './gemma3.ts';
import { tilePatches } from './tiles.ts';

const TOWER = 'vision';
const [START, END] = ['<start_of_image>', '<end_of_image>'];
export const GEMMA3_TOKEN = '<image_soft_token>';
const [BEFORE, AFTER] = [`\n\n${START}`, `${END}\n\n`];
const [WHOLE, CROPS] = ['Here is the original image ', ' and here are some crops to help you see better '];

export const GEMMA3: MediaFamily = {
  classes: ['Gemma3ForConditionalGeneration'],
  read(files) {
    const config = readGemma3(files);
    return {
      readers: {
        image: { placeholder: START, alpha: 'white', prepare: (image) => prepareImage(config, image) },
      },
      towers: { [TOWER]: (weights) => gemma3Tower(config.tower, weights) },
      spans: config.tower.across ** 2,
      transposed: [GEMMA3_PROJECTION],
    };
  },
};

function* prepareImage({ tower, tiles, scan }: Gemma3Config, image: Pixels): Preparation {
  const crops = scan === null ? [] : panAndScan(image, scan);
  const { patch, side } = tiles;
  yield (1 + crops.length) * tower.across ** 2;
  const fitted: Pixels[] = [];
  for (const one of [image, ...crops])
    fitted.push(yield* resampleInBands(one, side, side, { filter: 'bilinear' }));
  const { shape, sources, shares } = meanOfSquares(tower);
  return {
    parts: partsOf(crops.length, tower.across ** 2),
    token: GEMMA3_TOKEN,
    tower: TOWER,
    inputs: {
      patches: {
        shape: [fitted.length, (side / patch) ** 2, 3 * patch ** 2],
        data: yield* tilePatches(fitted, tiles),
      },
      sources: { shape, data: sources },
      shares: { shape, data: shares },
    },
    layout: null,
  };
}

function partsOf(crops: number, rows: number): (string | number)[] {
  if (crops === 0) return [BEFORE, rows, AFTER];
  const behind = Array.from({ length: crops }, (_, i) => [
    `${AFTER}${i === 0 ? CROPS : ' '}${BEFORE}`,
    rows,
  ]).flat();
  return [`${WHOLE}${BEFORE}`, rows, ...behind, AFTER];
}

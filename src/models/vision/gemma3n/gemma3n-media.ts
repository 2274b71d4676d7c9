// Images and sounds of Gemma 3n. Every image has one size, whatever its own, and as many tokens.

import type { Pixels } from '../../../files/image/pixels.ts';
import { gemma3nAudio } from '../../audio/gemma3n-audio.ts';
import { readGemma3nSounds } from '../../audio/gemma3n-audio-config.ts';
import { gemma3nSoundReader } from '../../audio/gemma3n-sound.ts';
import type { MediaFamily, Preparation } from '../../media.ts';
import { pixelPatches, resized } from '../tiles.ts';
import { gemma3nVision, squareInputs } from './gemma3n-vision.ts';
import {
  readGemma3nVision,
  type Gemma3nImageConfig,
  type Gemma3nVisionConfig,
} from './gemma3n-vision-config.ts';

const [TOWER, ENCODER] = ['vision', 'sound'];
const [START, TOKEN, END] = ['<start_of_image>', '<image_soft_token>', '<end_of_image>'];

export const GEMMA3N: MediaFamily = {
  classes: ['Gemma3nForConditionalGeneration'],
  read(files) {
    const sounds = readGemma3nSounds(files);
    const { tower, images } = readGemma3nVision(files);
    return {
      readers: {
        image: {
          placeholder: TOKEN,
          alpha: 'white',
          prepare: (image) => prepareImage(tower, images, image),
        },
        audio: gemma3nSoundReader(sounds, ENCODER),
      },
      towers: {
        [TOWER]: (weights) => gemma3nVision(tower, weights),
        [ENCODER]: (weights) => gemma3nAudio(sounds.encoder, weights),
      },
      spans: false,
    };
  },
};

function* prepareImage(
  { encoder }: Gemma3nVisionConfig,
  { side, filter, values }: Gemma3nImageConfig,
  image: Pixels,
): Preparation {
  const rows = encoder.across ** 2;
  yield rows + 1;
  // Torchvision resizes the images.
  const seen = yield* resized(image, { width: side, height: side }, { filter, rowsFirst: true });
  yield;
  return {
    parts: [`\n\n${START}`, rows, { token: END, rows: 1 }, '\n\n'],
    token: TOKEN,
    tower: TOWER,
    inputs: {
      pixels: { shape: [1, side, side, 3], data: pixelPatches(seen, { ...values, patch: side }) },
      ...squareInputs(encoder, side),
    },
    layout: null,
  };
}

// Images and videos of Gemma 4, and sounds of its small models. The tokens of an image see each other in some models.

import type { Pixels } from '../../files/image/pixels.ts';
import { gemma4Audio } from '../audio/gemma4-audio.ts';
import { readGemma4Sounds } from '../audio/gemma4-audio-config.ts';
import { gemma4SoundReader } from '../audio/gemma4-sound.ts';
import { isJsonObject } from '../config-values.ts';
import type { MediaFamily, MediaFiles, Preparation } from '../media.ts';
import {
  readGemma4Images,
  readGemma4Vision,
  type Gemma4ImageConfig,
  type Gemma4VisionConfig,
} from './gemma4-config.ts';
import { gemma4Inputs, gemma4Size } from './gemma4-image.ts';
import { gemma4VideoReader } from './gemma4-video.ts';
import { gemma4Vision } from './gemma4-vision.ts';
import type { WeightTable } from '../weights.ts';
import { resized } from './tiles.ts';

const [TOWER, ENCODER] = ['vision', 'sound'];
const [START, IMAGE, END] = ['<|image>', '<|image|>', '<image|>'];

export const GEMMA4: MediaFamily = {
  classes: ['Gemma4ForConditionalGeneration'],
  read(files) {
    const tower = readGemma4Vision(files);
    const { images } = readGemma4Images(files, 'image', tower);
    const video = readGemma4Images(files, 'video', tower);
    const frames = video.processor.count('num_frames', 32);
    const sounds = isJsonObject(files.config['audio_config']) ? readGemma4Sounds(files) : null;
    return {
      readers: {
        image: {
          placeholder: IMAGE,
          alpha: 'white',
          prepare: (image) => prepareImage(tower, images, image),
        },
        video: gemma4VideoReader(
          tower,
          { images: video.images, frames },
          { name: TOWER, begin: START, end: END },
        ),
        ...(sounds && { audio: gemma4SoundReader(sounds, ENCODER) }),
      },
      towers: {
        [TOWER]: (weights) => gemma4Vision(tower, weights),
        ...(sounds && { [ENCODER]: (weights: WeightTable) => gemma4Audio(sounds.encoder, weights) }),
      },
      spans: seesImages(files) && Math.max(images.most, video.images.most),
    };
  },
};

/** Whether the tokens of an image see each other. */
function seesImages({ config }: MediaFiles): boolean {
  const text = config['text_config'];
  return isJsonObject(text) && text['use_bidirectional_attention'] === 'vision';
}

function* prepareImage(tower: Gemma4VisionConfig, images: Gemma4ImageConfig, image: Pixels): Preparation {
  const size = gemma4Size(image, images);
  const rows = (size.width * size.height) / (tower.patch * tower.pooled) ** 2;
  yield rows;
  const seen = yield* resized(image, size, { filter: 'bicubic' });
  return {
    parts: [START, rows, END],
    token: IMAGE,
    tower: TOWER,
    inputs: yield* gemma4Inputs(tower, images, [seen]),
    layout: null,
  };
}

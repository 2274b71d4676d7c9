// Images, videos and sounds of Gemma 4. The tokens of an image see each other in its large models; the small ones hear.

import type { Pixels } from '../../files/image/pixels.ts';
import { gemma4Audio } from '../audio/gemma4-audio.ts';
import { readGemma4Sounds } from '../audio/gemma4-audio-config.ts';
import { gemma4PieceReader, gemma4SoundReader } from '../audio/gemma4-sound.ts';
import { isJsonObject } from '../config-values.ts';
import type { MediaFamily, MediaFiles, MediaModel, MediaReaders, Preparation } from '../media.ts';
import type { WeightTable } from '../weights.ts';
import {
  readGemma4Images,
  readGemma4Vision,
  type Gemma4ImageConfig,
  type Gemma4VisionConfig,
} from './gemma4-config.ts';
import { gemma4Inputs, gemma4Rows, gemma4Size } from './gemma4-image.ts';
import { gemma4Pieces, gemma4Squares, squareInputs } from './gemma4-unified.ts';
import { readGemma4Unified } from './gemma4-unified-config.ts';
import { gemma4VideoReader, type Gemma4Shown } from './gemma4-video.ts';
import { gemma4Vision } from './gemma4-vision.ts';
import { resized } from './tiles.ts';

const [TOWER, ENCODER] = ['vision', 'sound'];
export const GEMMA4_IMAGE = '<|image|>';
const AROUND = { tower: TOWER, begin: '<|image>', end: '<image|>' };

export const GEMMA4: MediaFamily = {
  classes: ['Gemma4ForConditionalGeneration'],
  read(files) {
    const tower = readGemma4Vision(files);
    const sounds = isJsonObject(files.config['audio_config']) ? readGemma4Sounds(files) : null;
    const shown = readShown(files, tower, {
      inputs: (images, frames) => gemma4Inputs(tower, images, frames),
    });
    return {
      ...shown,
      readers: { ...shown.readers, ...(sounds && { audio: gemma4SoundReader(sounds, ENCODER) }) },
      towers: {
        [TOWER]: (weights) => gemma4Vision(tower, weights),
        ...(sounds && { [ENCODER]: (weights: WeightTable) => gemma4Audio(sounds.encoder, weights) }),
      },
    };
  },
};

/** Gemma 4 12B, which reads squares of pixels and pieces of sounds without towers. */
export const GEMMA4_UNIFIED: MediaFamily = {
  classes: ['Gemma4UnifiedForConditionalGeneration'],
  read(files) {
    const { vision, audio } = readGemma4Unified(files);
    const shown = readShown(files, vision, { inputs: squareInputs, isCentred: false });
    return {
      ...shown,
      readers: { ...shown.readers, ...(audio && { audio: gemma4PieceReader(audio.samples, ENCODER) }) },
      towers: {
        [TOWER]: (weights) => gemma4Squares(vision, weights),
        ...(audio && { [ENCODER]: (weights: WeightTable) => gemma4Pieces(audio, weights) }),
      },
    };
  },
};

/** The readers of images and videos, and how many of their tokens see each other. */
function readShown(
  files: MediaFiles,
  vision: Pick<Gemma4VisionConfig, 'patch' | 'pooled'>,
  { inputs, isCentred = true }: Pick<Gemma4Shown, 'inputs'> & { isCentred?: boolean },
): Pick<MediaModel, 'spans'> & { readers: MediaReaders } {
  const { images } = readGemma4Images(files, 'image', vision, isCentred);
  const video = readGemma4Images(files, 'video', vision, isCentred);
  const shown = { ...AROUND, inputs };
  const frames = video.processor.count('num_frames', 32);
  return {
    readers: {
      image: {
        placeholder: GEMMA4_IMAGE,
        alpha: 'white',
        prepare: (image) => prepareImage(images, shown, image),
      },
      video: gemma4VideoReader({ images: video.images, frames }, shown),
    },
    spans: seesImages(files) && Math.max(images.most, video.images.most),
  };
}

/** Whether the tokens of an image see each other, as those of the 12B do unless its configuration says otherwise. */
function seesImages({ config }: MediaFiles): boolean {
  const text = config['text_config'];
  const stated = isJsonObject(text) ? text['use_bidirectional_attention'] : undefined;
  return stated === 'vision' || (stated === undefined && config['model_type'] === 'gemma4_unified');
}

function* prepareImage(images: Gemma4ImageConfig, shown: Gemma4Shown, image: Pixels): Preparation {
  const size = gemma4Size(image, images);
  const rows = gemma4Rows(size, images);
  yield rows;
  const seen = yield* resized(image, size, { filter: 'bicubic' });
  return {
    parts: [shown.begin, rows, shown.end],
    token: GEMMA4_IMAGE,
    tower: shown.tower,
    inputs: yield* shown.inputs(images, [seen]),
    layout: null,
  };
}

// Images and videos in Qwen2-VL, Qwen2.5-VL, Qwen3-VL and Qwen3.5: any size, cells of merged patches, positions of three parts.

import { resampleInBands } from '../../../files/image/resample.ts';
import type { Pixels } from '../../../files/image/pixels.ts';
import { readConfig } from '../../config-values.ts';
import type { MediaFamily, MediaFiles, MediaModel, Tower, Preparation } from '../../media.ts';
import { processorPart } from '../../processor-part.ts';
import { withSections } from '../../text/wrappers.ts';
import type { WeightTable } from '../../weights.ts';
import { prepareFrames, type FramesConfig } from './qwen-frames.ts';
import { qwenPlaces } from './qwen-places.ts';
import { readQwenProcessorConfig, type QwenProcessorConfig } from './qwen-processor-config.ts';
import { readQwenVideoConfig, type QwenVideoConfig } from './qwen-video-config.ts';
import { qwenVideoReader } from './qwen-video.ts';
import { readQwenVisionConfig } from './qwen-vision-config.ts';
import { qwenVision } from './qwen-vision.ts';
import { readQwenVitConfig } from './qwen-vit-config.ts';
import { qwenVit } from './qwen-vit.ts';
import { smartSize } from '../smart-size.ts';

const IMAGE = '<|image_pad|>';

export const QWEN2_VL: MediaFamily = {
  classes: ['Qwen2VLForConditionalGeneration'],
  text: (config) => withSections(config, { sections: [16, 24, 24], interleaved: false }),
  read: (files) => withVit(files, { isQwen3: false, hasDeep: false }),
};

export const QWEN2_5_VL: MediaFamily = {
  classes: ['Qwen2_5_VLForConditionalGeneration'],
  text: (config) => withSections(config, { sections: [16, 24, 24], interleaved: false }),
  read(files) {
    const vision = readQwenVisionConfig(files.config);
    const tower = (weights: WeightTable): Tower => qwenVision(vision, weights);
    const config = readConfig('config.json', files.config).part('vision_config');
    const perSecond = config.real('tokens_per_second', 4);
    return mediaModel({ ...vision, places: null }, files, tower, { perSecond });
  },
};

export const QWEN3_VL: MediaFamily = {
  classes: ['Qwen3VLForConditionalGeneration', 'Qwen3VLMoeForConditionalGeneration'],
  text: (config, outer) => ({
    ...withSections(config, { sections: [24, 20, 20], interleaved: true }),
    deep_inputs: readQwenVitConfig(outer, { isQwen3: true, hasDeep: true }).deep.length,
  }),
  read: (files) => withVit(files, { isQwen3: true, hasDeep: true }),
};

export const QWEN3_5: MediaFamily = {
  classes: ['Qwen3_5ForConditionalGeneration', 'Qwen3_5MoeForConditionalGeneration'],
  text: (config) => withSections(config, { sections: [11, 11, 10], interleaved: true }),
  read: (files) => withVit(files, { isQwen3: true, hasDeep: false }),
};

function withVit(files: MediaFiles, form: { isQwen3: boolean; hasDeep: boolean }): MediaModel {
  const vision = readQwenVitConfig(files.config, form);
  const tower = (weights: WeightTable): Tower => qwenVit(vision, weights);
  return mediaModel({ ...vision, window: Infinity }, files, tower, form.isQwen3 ? 'text' : 'index');
}

function mediaModel(
  vision: FramesConfig,
  { processors }: MediaFiles,
  tower: MediaModel['towers'][string],
  time: QwenVideoConfig['time'],
): MediaModel {
  const processor = readQwenProcessorConfig(
    processorPart(processors, 'image_processor', 'preprocessor_config.json'),
  );
  return {
    readers: {
      image: {
        placeholder: IMAGE,
        alpha: 'white',
        prepare: (image) => prepareImage(vision, processor, image),
      },
      video: qwenVideoReader(vision, readQwenVideoConfig(processors, time)),
    },
    towers: { vision: tower },
    spans: false,
    places: qwenPlaces,
  };
}

function* prepareImage(vision: FramesConfig, processor: QwenProcessorConfig, image: Pixels): Preparation {
  const { patch, merge, minPixels, maxPixels } = processor;
  const { width, height } = smartSize(image, { multiple: patch * merge, minPixels, maxPixels });
  yield (width * height) / (patch * merge) ** 2;
  const seen = yield* resampleInBands(image, width, height, { filter: 'bicubic' });
  const { inputs, groups, rows, columns } = yield* prepareFrames(vision, processor, [seen]);
  return {
    parts: [rows * columns],
    token: IMAGE,
    tower: 'vision',
    inputs,
    layout: groups,
    grid: { times: [0], rows, columns },
  };
}

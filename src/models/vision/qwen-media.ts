// Images in Qwen2.5-VL: any size, cells of merged patches, positions of three parts.

import { resample } from '../../files/image/resample.ts';
import { smartSize } from '../../files/image/smart-size.ts';
import type { Pixels } from '../../files/image/pixels.ts';
import type { MediaFamily, PreparedMedium, Tower } from '../media.ts';
import { withSections } from '../text/wrappers.ts';
import type { WeightTable } from '../weights.ts';
import { qwenPlaces } from './qwen-places.ts';
import { readQwenProcessorConfig, type QwenProcessorConfig } from './qwen-processor-config.ts';
import { readQwenVisionConfig, type QwenVisionConfig } from './qwen-vision-config.ts';
import { visionLayout, type VisionLayout } from './qwen-vision-layout.ts';
import { visionPatches } from './qwen-vision-patches.ts';
import { qwenVision } from './qwen-vision.ts';

const IMAGE = '<|image_pad|>';

export const QWEN_MEDIA: MediaFamily = {
  classes: ['Qwen2_5_VLForConditionalGeneration'],
  text: withSections,
  read({ config, processors }) {
    const vision = readQwenVisionConfig(config);
    const [file = 'preprocessor_config.json', json = {}] =
      Object.entries(processors).find(([name]) => !name.startsWith('video')) ?? [];
    const processor = readQwenProcessorConfig(json, file);
    return {
      readers: {
        image: {
          placeholder: IMAGE,
          alpha: 'dropped',
          prepare: (image) => prepareImage(vision, processor, image),
        },
      },
      towers: { vision: (weights) => visionTower(vision, weights) },
      spans: false,
      places: qwenPlaces,
    };
  },
};

function visionTower(config: QwenVisionConfig, weights: WeightTable): Tower {
  const tower = qwenVision(config, weights);
  return ({ patches, rotations, places }, layout) => {
    const groups = layout as VisionLayout['groups'];
    return [tower({ patches: patches!, rotations: rotations!, places: places!, groups })];
  };
}

function prepareImage(
  vision: QwenVisionConfig,
  processor: QwenProcessorConfig,
  image: Pixels,
): PreparedMedium {
  const { patch, merge, minPixels, maxPixels } = processor;
  const { width, height } = smartSize(image, { multiple: patch * merge, minPixels, maxPixels });
  const seen = resample(image, width, height, { filter: 'bicubic' });
  const [rows, columns] = [height / patch, width / patch];
  const { patches, groups, places, rotations } = visionLayout(vision, { rows, columns });
  const values = visionPatches(processor, { patches }, seen);
  const count = patches.length;
  const cells = count / merge ** 2;
  return {
    parts: [cells],
    token: IMAGE,
    tower: 'vision',
    inputs: {
      patches: { shape: [1, count / merge, merge, values.length / count], data: values },
      rotations: { shape: [count, vision.dims], data: rotations },
      places: { shape: [count], data: places },
    },
    layout: groups,
    grid: { times: [0], rows: rows / merge, columns: columns / merge },
  };
}

// Qwen-Image-Edit and Qwen-Image-Edit-Plus (2509 and later): the images that are edited enter through Qwen2.5-VL's vision tower, and
// through the autoencoder as tokens beside those that are denoised.

import { COMMON, type CallArgumentTable } from '../../calls/call-arguments.ts';
import type { Size } from '../../calls/image-model.ts';
import { roundHalfEven } from '../../schedules/spacing.ts';
import { QWEN_IMAGE_EDIT_FILES, QWEN_IMAGE_EDIT_PLUS_FILES } from './qwen-image-layout.ts';
import type { ImageFamily, ReferenceRule } from '../../blocks/family.ts';
import { textsWithImages } from './qwen-image-edit-texts.ts';
import { openQwenImage } from './qwen-image-model.ts';
import { ARGUMENTS, qwenImage } from './qwen-image.ts';
import { textEncoder } from '../../blocks/shared-components.ts';

const SIDE_MULTIPLE = 32;
/** Side of a square image in training, and that of images for the text encoder of Edit-Plus. */
const TRAINED_SIDE = 1024;
const SHOWN_SIDE = 384;

/** Returns the size with an image's proportions and about this many pixels. */
export function sizeOfArea({ width, height }: Size, pixels: number): Size {
  const ratio = width / height;
  const wide = Math.sqrt(pixels * ratio);
  return { width: rounded(wide), height: rounded(wide / ratio) };
}

const rounded = (side: number): number => Math.max(1, roundHalfEven(side / SIDE_MULTIPLE)) * SIDE_MULTIPLE;

const { max_sequence_length: _, ...EDIT_ARGUMENTS }: CallArgumentTable = { ...COMMON, ...ARGUMENTS };

const BASE: Omit<ImageFamily, 'name' | 'examples' | 'modelIds' | 'pipelines' | 'open'> = {
  ...qwenImage,
  components: {
    ...qwenImage.components,
    text_encoder: textEncoder('Qwen2_5_VLForConditionalGeneration'),
    processor: {
      kind: 'processor',
      library: 'transformers',
      classes: ['Qwen2VLProcessor', 'Qwen2_5_VLProcessor'],
    },
  },
  takes: ['flowShift'],
};

function editSet(className: string, references: ReferenceRule): ImageFamily['pipelines'] {
  const classes = { 'image-to-image': className };
  return [{ classes, references, strength: 'ceil', callArguments: () => EDIT_ARGUMENTS }];
}

export const qwenImageEdit: ImageFamily = {
  ...BASE,
  name: 'qwen-image-edit',
  examples: 'Qwen-Image-Edit',
  files: QWEN_IMAGE_EDIT_FILES,
  modelIds: /qwen-?image-?edit/i,
  pipelines: editSet('QwenImageEditPipeline', { most: 1, sizeOf: sizeOfArea, shownSizeOf: sizeOfArea }),
  open: (components) =>
    openQwenImage(
      components,
      textsWithImages(components, () => ''),
    ),
};

export const qwenImageEditPlus: ImageFamily = {
  ...BASE,
  name: 'qwen-image-edit-plus',
  examples: 'Qwen-Image-Edit-2509, Qwen-Image-Edit-2511',
  files: QWEN_IMAGE_EDIT_PLUS_FILES,
  modelIds: /qwen-?image-?edit-?(plus|25\d\d)/i,
  pipelines: editSet('QwenImageEditPlusPipeline', {
    most: 8,
    sizeOf: sizeOfArea,
    shownSizeOf: (image, pixels) => sizeOfArea(image, pixels * (SHOWN_SIDE / TRAINED_SIDE) ** 2),
  }),
  open: (components) =>
    openQwenImage(
      components,
      textsWithImages(components, (index) => `Picture ${index + 1}: `),
    ),
};

// GGUF files of the tower of PaddleOCR-VL. source: llama.cpp's conversion of the class, gguf-py's tensor_mapping.py; what files leave out is as
// published.

import type { GgufTower } from '../../../files/gguf/tower.ts';
import {
  encoderSizes,
  imageSizes,
  normalization,
  normEps,
  statedClass,
  wholePart,
  type TowerNames,
} from '../../gguf-towers.ts';
import { sectionedText } from '../qwen/qwen-vision-gguf.ts';
import { siglipNames } from '../siglip-gguf.ts';

const SIGLIP = siglipNames('visual.vision_model.');
const NAMES: TowerNames = {
  ...SIGLIP,
  outer: {
    ...SIGLIP.outer,
    'mm.input_norm.': 'mlp_AR.pre_norm.',
    'mm.1.': 'mlp_AR.linear_1.',
    'mm.2.': 'mlp_AR.linear_2.',
  },
};

export const PADDLE_OCR_VISION_GGUF: GgufTower = {
  projector: 'paddleocr',
  texts: ['paddleocr'],
  isExpected: ({ metadata }) => metadata === 'paddleocr',
  classNames: ['PaddleOCRVLForConditionalGeneration'],
  output: { tensor: 'mm.2.weight', dimension: 0 },
  read(file) {
    const { keys, tensors } = file;
    const { patch_size: patch } = imageSizes(file);
    // The image size that files state bounds images; the table has the positions of another.
    const positions = tensors.get('v.position_embd.weight')?.shape[0] ?? 0;
    return {
      ...statedClass(file, 'PaddleOCRVLForConditionalGeneration', 'paddleocr_vl', {
        text_config: sectionedText(file),
        vision_config: {
          ...encoderSizes(file),
          patch_size: patch,
          image_size: Math.floor(Math.sqrt(positions)) * patch,
          layer_norm_eps: normEps(file, 1e-6),
        },
      }),
      processors: {
        'preprocessor_config.json': {
          ...normalization(file),
          patch_size: patch,
          min_pixels: keys.count('clip.vision.image_min_pixels', 384 ** 2),
          max_pixels: keys.count('clip.vision.image_max_pixels', 1536 ** 2),
        },
      },
    };
  },
  parts: (tensor, { tensors }) => wholePart(tensor, tensors, NAMES),
};

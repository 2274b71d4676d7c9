// GGUF files of the tower of LFM2-VL. source: llama.cpp's conversion of the class, gguf-py's tensor_mapping.py; settings of processors are not in
// files, and as published.

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
import { siglipNames } from '../siglip-gguf.ts';
import { BY_CHANNELS } from './lfm2-vl-config.ts';

const SIGLIP = siglipNames('vision_tower.');
const NORM = 'mm.input_norm.';
const NAMES: TowerNames = {
  ...SIGLIP,
  outer: {
    ...SIGLIP.outer,
    [NORM]: 'multi_modal_projector.layer_norm.',
    'mm.1.': 'multi_modal_projector.linear_1.',
    'mm.2.': 'multi_modal_projector.linear_2.',
  },
};

export const LFM2_VISION_GGUF: GgufTower = {
  projector: 'lfm2',
  texts: ['lfm2', 'lfm2moe'],
  classNames: ['Lfm2VlForConditionalGeneration'],
  output: { tensor: 'mm.2.weight', dimension: 0 },
  read(file) {
    const { keys, tensors } = file;
    const { patch_size: patch } = imageSizes(file);
    const factor = keys.count('clip.vision.projector.scale_factor', 2);
    const rowsOf = (name: string): number => tensors.get(name)?.shape[0] ?? 0;
    return {
      ...statedClass(file, 'Lfm2VlForConditionalGeneration', 'lfm2_vl', {
        vision_config: {
          ...encoderSizes(file),
          patch_size: patch,
          num_patches: rowsOf('v.position_embd.weight'),
          layer_norm_eps: normEps(file, 1e-6),
          [BY_CHANNELS]: true,
        },
        downsample_factor: factor,
        projector_hidden_size: rowsOf('mm.1.weight'),
        projector_bias: tensors.has('mm.1.bias'),
        projector_use_layernorm: tensors.has(`${NORM}weight`),
      }),
      processors: {
        'preprocessor_config.json': {
          ...normalization(file),
          encoder_patch_size: patch,
          downsample_factor: factor,
        },
      },
    };
  },
  parts: (tensor, { tensors }) => wholePart(tensor, tensors, NAMES),
};

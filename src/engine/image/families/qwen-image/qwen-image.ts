// Qwen-Image and its few-step variants: Qwen2.5-VL's language model encodes the prompt, a transformer denoises latents in patches of
// 2 × 2.

import type { ImageFamily } from '../../blocks/family.ts';
import {
  denoiser,
  QWEN_TOKENIZER,
  SCHEDULER,
  textEncoder,
  TRANSFORMER_FAMILY,
  classesOf,
} from '../../blocks/shared-components.ts';
import {
  byTask,
  COMMON,
  MAX_LENGTH,
  NEGATIVE,
  number,
  SIGMAS,
  SIZE,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import { decoderLora, DOUBLE_ATTENTION, DOUBLE_BLOCKS, transformerLora } from '../../layouts/lora-names.ts';
import { QWEN_IMAGE_FILES } from './qwen-image-layout.ts';
import { openQwenImage, plainTexts } from './qwen-image-model.ts';

export const ARGUMENTS: CallArgumentTable = {
  ...COMMON,
  ...SIZE,
  ...NEGATIVE,
  true_cfg_scale: number('a number of at least 0', (value) => value >= 0, { request: 'guidance' }),
  guidance_scale: {
    ...COMMON['guidance_scale']!,
    unavailable: 'is for models with distilled guidance, which this one is not: give true_cfg_scale',
  },
  ...SIGMAS,
  ...MAX_LENGTH,
};

export const qwenImage: ImageFamily = {
  ...TRANSFORMER_FAMILY,
  name: 'qwen-image',
  examples: 'Qwen-Image, Qwen-Image-2512, Qwen-Image-Lightning',
  modelIds: /qwen-?image/i,
  components: {
    // The language model alone is enough where no image is seen; GGUF files of Qwen2.5-VL hold no more.
    text_encoder: textEncoder('Qwen2_5_VLForConditionalGeneration', 'Qwen2ForCausalLM'),
    tokenizer: QWEN_TOKENIZER,
    transformer: denoiser('QwenImageTransformer2DModel'),
    vae: { kind: 'model', library: 'diffusers', classes: ['AutoencoderKLQwenImage'] },
    scheduler: SCHEDULER,
  },
  pipelines: [
    {
      classes: classesOf('QwenImage'),
      strength: 'ceil',
      callArguments: byTask(ARGUMENTS),
    },
  ],
  defaults: { steps: 50, guidance: 4, size: 1024 },
  namedDefaults: [
    [/qwen-?image.*lightning.*4[ -]?step/i, { steps: 4, guidance: 1, size: 1024 }],
    [/qwen-?image.*lightning/i, { steps: 8, guidance: 1, size: 1024 }],
  ],
  files: QWEN_IMAGE_FILES,
  lora: {
    parts: [transformerLora(), decoderLora('text_encoder')],
    signs: [
      { models: 'Qwen-Image', module: /transformer_blocks[._]\d+[._](?:img|txt)_(?:mlp|mod)[._]/ },
      // Its attention has the names and the width of FLUX.1, in more blocks.
      { models: 'Qwen-Image', module: DOUBLE_ATTENTION, width: 3072, last: [DOUBLE_BLOCKS, Infinity] },
    ],
  },
  open: (components) => openQwenImage(components, plainTexts(components)),
};

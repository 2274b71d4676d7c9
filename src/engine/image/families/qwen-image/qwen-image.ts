// Qwen-Image and its few-step variants: Qwen2.5-VL's language model encodes the prompt, a transformer denoises latents in patches of
// 2 × 2.

import {
  COMMON,
  integer,
  list,
  NEGATIVE,
  number,
  SIZE,
  STRENGTH,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import { QWEN_IMAGE_FILES } from './qwen-image-layout.ts';
import { plainSigmas } from '../../schedules/flow-sigmas.ts';
import {
  decoderAdapters,
  DOUBLE_ATTENTION,
  DOUBLE_BLOCKS,
  transformerAdapters,
} from '../../blocks/adapter-names.ts';
import type { ImageFamily } from '../../blocks/family.ts';
import { readQwenImageAutoencoder } from './qwen-image-autoencoder.ts';
import { openQwenImage, PATCH } from './qwen-image-model.ts';
import { plainTexts } from './qwen-image-texts.ts';
import { denoiser, SCHEDULER, textEncoder, tokenizer } from '../../blocks/shared-components.ts';

export const ARGUMENTS: CallArgumentTable = {
  ...COMMON,
  ...SIZE,
  ...NEGATIVE,
  true_cfg_scale: number('a number of at least 0', (value) => value >= 0, { request: 'guidance' }),
  guidance_scale: {
    ...COMMON['guidance_scale']!,
    unavailable: 'is for models with distilled guidance, which this one is not: give true_cfg_scale',
  },
  sigmas: list('numbers between 0 and 1', (item) => item >= 0 && item <= 1, { call: 'sigmas' }),
  max_sequence_length: integer(1, { request: 'maxSequenceLength' }),
};

export const qwenImage: ImageFamily = {
  name: 'qwen-image',
  examples: 'Qwen-Image, Qwen-Image-2512, Qwen-Image-Lightning',
  modelIds: /qwen-?image/i,
  components: {
    // The language model alone is enough where no image is seen; GGUF files of Qwen2.5-VL hold no more.
    text_encoder: textEncoder('Qwen2_5_VLForConditionalGeneration', 'Qwen2ForCausalLM'),
    tokenizer: tokenizer('Qwen2Tokenizer', 'Qwen2TokenizerFast'),
    transformer: denoiser('QwenImageTransformer2DModel'),
    vae: { kind: 'model', library: 'diffusers', classes: ['AutoencoderKLQwenImage'] },
    scheduler: SCHEDULER,
  },
  denoiser: 'transformer',
  autoencoder: 'vae',
  readAutoencoder: readQwenImageAutoencoder,
  latents: { patch: PATCH, frames: 1 },
  pipelines: [
    {
      classes: {
        'text-to-image': 'QwenImagePipeline',
        'image-to-image': 'QwenImageImg2ImgPipeline',
        inpainting: 'QwenImageInpaintPipeline',
      },
      strength: 'ceil',
      callArguments: (task) => {
        if (task === 'text-to-image') return ARGUMENTS;
        const crop = { padding_mask_crop: integer(0, { call: 'maskPadding' }) };
        return { ...ARGUMENTS, ...STRENGTH, ...(task === 'inpainting' ? crop : {}) };
      },
    },
  ],
  defaults: { steps: 50, guidance: 4, size: 1024 },
  namedDefaults: [
    [/qwen-?image.*lightning.*4[ -]?step/i, { steps: 4, guidance: 1, size: 1024 }],
    [/qwen-?image.*lightning/i, { steps: 8, guidance: 1, size: 1024 }],
  ],
  takes: ['maxSequenceLength', 'flowShift'],
  readsEmphasis: false,
  sigmas: plainSigmas,
  files: QWEN_IMAGE_FILES,
  adapters: {
    parts: [transformerAdapters(), decoderAdapters('text_encoder')],
    signs: [
      { models: 'Qwen-Image', module: /transformer_blocks[._]\d+[._](?:img|txt)_(?:mlp|mod)[._]/ },
      // Its attention has the names and the width of FLUX.1, in more blocks.
      { models: 'Qwen-Image', module: DOUBLE_ATTENTION, width: 3072, last: [DOUBLE_BLOCKS, Infinity] },
    ],
  },
  open: (components) => openQwenImage(components, plainTexts(components)),
};

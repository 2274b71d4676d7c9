// Z-Image and Z-Image-Turbo: a Qwen3 language model encodes the prompt, a transformer denoises latents in patches of 2 × 2.

import {
  COMMON,
  integer,
  isReal,
  list,
  NEGATIVE,
  number,
  SIZE,
  STRENGTH,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import { readAutoencoder } from '../../blocks/autoencoder.ts';
import { originalNames, Z_IMAGE_FILES } from './z-image-layout.ts';
import { plainSigmas } from '../../schedules/flow-sigmas.ts';
import { decoderAdapters, transformerAdapters } from '../../blocks/adapter-names.ts';
import type { ImageFamily } from '../../blocks/family.ts';
import { AUTOENCODER, denoiser, SCHEDULER, textEncoder, tokenizer } from '../../blocks/shared-components.ts';
import { openZImage, PATCH, type ZImageArguments } from './z-image-model.ts';

const into = (field: keyof ZImageArguments) => ({ call: field });

const ARGUMENTS: CallArgumentTable = {
  ...COMMON,
  ...SIZE,
  ...NEGATIVE,
  sigmas: list('numbers between 0 and 1', (item) => item >= 0 && item <= 1, into('sigmas')),
  cfg_normalization: {
    wanted: 'true, false or a number of at least 0',
    fits: (value) => typeof value === 'boolean' || (isReal(value) && value >= 0),
    into: into('cfgNormalization'),
  },
  cfg_truncation: number('a number of at least 0', (value) => value >= 0, into('cfgTruncation')),
  max_sequence_length: integer(1, { request: 'maxSequenceLength' }),
};

/** Parts of the original program's names that have underscores. */
const ADAPTER_WORDS = [
  ...['noise_refiner', 'context_refiner', 'feed_forward', 'cap_embedder', 't_embedder', 'x_embedder'],
  ...['final_layer', 'adaLN_modulation', 'to_q', 'to_k', 'to_v', 'to_out', 'q_norm', 'k_norm'],
];

export const zImage: ImageFamily = {
  name: 'z-image',
  examples: 'Z-Image, Z-Image-Turbo',
  modelIds: /z[-_]?image/i,
  components: {
    text_encoder: textEncoder('Qwen3Model', 'Qwen3ForCausalLM'),
    tokenizer: tokenizer('Qwen2Tokenizer', 'Qwen2TokenizerFast'),
    transformer: denoiser('ZImageTransformer2DModel'),
    vae: AUTOENCODER,
    scheduler: SCHEDULER,
  },
  denoiser: 'transformer',
  autoencoder: 'vae',
  readAutoencoder,
  latents: { patch: PATCH, frames: 1 },
  pipelines: [
    {
      classes: {
        'text-to-image': 'ZImagePipeline',
        'image-to-image': 'ZImageImg2ImgPipeline',
        inpainting: 'ZImageInpaintPipeline',
      },
      strength: 'ceil',
      callArguments: (task) => (task === 'text-to-image' ? ARGUMENTS : { ...ARGUMENTS, ...STRENGTH }),
    },
  ],
  defaults: { steps: 50, guidance: 5, size: 1024 },
  namedDefaults: [[/z[-_]?image.*turbo/i, { steps: 8, guidance: 0, size: 1024 }]],
  adapters: {
    parts: [
      transformerAdapters({ rename: originalNames, words: ADAPTER_WORDS }),
      decoderAdapters('text_encoder'),
    ],
    signs: [
      {
        models: 'Z-Image',
        module: /(?:^|[._])(?:layers|noise_refiner|context_refiner)[._]\d+[._](?:attention|feed_forward)[._]/,
        width: 3840,
      },
    ],
  },
  takes: ['maxSequenceLength', 'flowShift'],
  readsEmphasis: false,
  sigmas: plainSigmas,
  files: Z_IMAGE_FILES,
  open: openZImage,
};

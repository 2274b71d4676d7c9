// Chroma: T5 encodes the prompt, a transformer made from FLUX.1 denoises latents in patches of 2 × 2, with true guidance.

import { readAutoencoder } from '../../blocks/autoencoder.ts';
import {
  COMMON,
  integer,
  list,
  NEGATIVE,
  SIZE,
  STRENGTH,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import { CHROMA_FILES } from './chroma-layout.ts';
import { plainSigmas } from '../../schedules/flow-sigmas.ts';
import { openChroma, PATCH } from './chroma-model.ts';
import type { ImageFamily } from '../../blocks/family.ts';
import { CHROMA_ADAPTERS } from '../flux/flux-adapters.ts';
import { AUTOENCODER, denoiser, SCHEDULER, textEncoder, tokenizer } from '../../blocks/shared-components.ts';

const ARGUMENTS: CallArgumentTable = {
  ...COMMON,
  ...SIZE,
  ...NEGATIVE,
  sigmas: list('numbers between 0 and 1', (item) => item >= 0 && item <= 1, { call: 'sigmas' }),
  max_sequence_length: integer(1, { request: 'maxSequenceLength' }),
};

export const chromaFamily: ImageFamily = {
  name: 'chroma',
  examples: 'Chroma1-HD, Chroma1-Base',
  modelIds: /chroma/i,
  components: {
    text_encoder: textEncoder('T5EncoderModel'),
    tokenizer: tokenizer('T5TokenizerFast', 'T5Tokenizer'),
    transformer: denoiser('ChromaTransformer2DModel'),
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
        'text-to-image': 'ChromaPipeline',
        'image-to-image': 'ChromaImg2ImgPipeline',
        inpainting: 'ChromaInpaintPipeline',
      },
      strength: 'ceil',
      callArguments: (task) => {
        if (task === 'text-to-image') return ARGUMENTS;
        const crop = { padding_mask_crop: integer(0, { call: 'maskPadding' }) };
        return { ...ARGUMENTS, ...STRENGTH, ...(task === 'inpainting' ? crop : {}) };
      },
    },
  ],
  defaults: { steps: 35, guidance: 5, size: 1024 },
  namedDefaults: [],
  takes: ['maxSequenceLength', 'flowShift'],
  readsEmphasis: false,
  sigmas: plainSigmas,
  files: CHROMA_FILES,
  adapters: CHROMA_ADAPTERS,
  open: openChroma,
};

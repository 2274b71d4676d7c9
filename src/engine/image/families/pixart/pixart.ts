// PixArt-α and PixArt-Σ: T5 encodes the prompt, a transformer denoises latents in patches of 2 × 2.

import { readAutoencoder } from '../../blocks/autoencoder.ts';
import {
  COMMON,
  flag,
  integer,
  isWhole,
  list,
  NEGATIVE,
  number,
  onlyFalse,
  SIZE,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import { PIXART_OR_SANA, t5Adapters, transformerAdapters } from '../../blocks/adapter-names.ts';
import type { ImageFamily, PipelineSet } from '../../blocks/family.ts';
import { openPixArt, type PixArtArguments } from './pixart-model.ts';
import { AUTOENCODER, denoiser, SCHEDULER, textEncoder, tokenizer } from '../../blocks/shared-components.ts';

const into = (field: keyof PixArtArguments) => ({ call: field });

const ARGUMENTS: CallArgumentTable = {
  ...COMMON,
  ...SIZE,
  ...NEGATIVE,
  timesteps: list('integers of at least 0', (item) => isWhole(item) && item >= 0, into('timesteps')),
  eta: number('a number from 0 to 1', (value) => value >= 0 && value <= 1, into('eta')),
  max_sequence_length: integer(1, { request: 'maxSequenceLength' }),
  clean_caption: onlyFalse('cleaning of captions is not built'),
  use_resolution_binning: flag(into('binning')),
};

const pipeline = (className: string): PipelineSet => ({
  classes: { 'text-to-image': className },
  strength: 'ceil',
  callArguments: () => ARGUMENTS,
});

export const pixartFamily: ImageFamily = {
  name: 'pixart',
  examples: 'PixArt-Σ 512, 1024 and 2K, PixArt-α 512 and 1024',
  modelIds: /pixart/i,
  components: {
    text_encoder: textEncoder('T5EncoderModel'),
    tokenizer: tokenizer('T5TokenizerFast', 'T5Tokenizer'),
    transformer: denoiser('PixArtTransformer2DModel', 'Transformer2DModel'),
    vae: AUTOENCODER,
    scheduler: SCHEDULER,
  },
  denoiser: 'transformer',
  autoencoder: 'vae',
  readAutoencoder,
  latents: { patch: 2, frames: 1 },
  pipelines: [pipeline('PixArtSigmaPipeline'), pipeline('PixArtAlphaPipeline')],
  defaults: { steps: 20, guidance: 4.5 },
  namedDefaults: [[/lcm/i, { steps: 4, guidance: 0 }]],
  adapters: {
    parts: [transformerAdapters(), t5Adapters('text_encoder', 1)],
    signs: [
      {
        models: 'PixArt',
        module: /(?<!single_|joint_)transformer_blocks[._]\d+[._]ff[._]net[._]/,
        width: 1152,
      },
      PIXART_OR_SANA,
    ],
  },
  takes: ['maxSequenceLength'],
  readsEmphasis: false,
  sigmas: null,
  open: openPixArt,
};

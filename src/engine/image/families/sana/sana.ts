// Sana: Gemma 2 encodes the prompt, a transformer with linear attention denoises latents of 32 × 32 pixels.

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
import { ORIGINAL_WORDS, originalNames, SANA_FILES } from './sana-layout.ts';
import { decoderAdapters, PIXART_OR_SANA, transformerAdapters } from '../../blocks/adapter-names.ts';
import type { ImageFamily } from '../../blocks/family.ts';
import { readDCAutoencoder } from './sana-autoencoder.ts';
import { openSana, type SanaArguments } from './sana-model.ts';
import { denoiser, SCHEDULER, textEncoder, tokenizer } from '../../blocks/shared-components.ts';

const into = (field: keyof SanaArguments) => ({ call: field });
/** Limit on the lines of an instruction. */
const MOST_LINES = 64;

const lines: CallArgumentTable[string] = {
  wanted: `a list of at most ${MOST_LINES} strings`,
  fits: (value) =>
    Array.isArray(value) &&
    value.length <= MOST_LINES &&
    value.every((line: unknown) => typeof line === 'string'),
  into: into('instruction'),
};

const ARGUMENTS: CallArgumentTable = {
  ...COMMON,
  ...SIZE,
  ...NEGATIVE,
  timesteps: list('integers of at least 0', (item) => isWhole(item) && item >= 0, into('timesteps')),
  sigmas: list('numbers between 0 and 1', (item) => item >= 0 && item <= 1, into('sigmas')),
  eta: number('a number from 0 to 1', (value) => value >= 0 && value <= 1, into('eta')),
  max_sequence_length: integer(1, { request: 'maxSequenceLength' }),
  complex_human_instruction: lines,
  clean_caption: onlyFalse('cleaning of captions is not built'),
  use_resolution_binning: flag(into('binning')),
};

export const sanaFamily: ImageFamily = {
  name: 'sana',
  examples: 'Sana 0.6B, 1.6B, 4.8B in 512 to 4096 pixels, Sana 1.5',
  modelIds: /(?:^|[^a-z])sana(?:[^a-z]|$)/i,
  components: {
    text_encoder: textEncoder('Gemma2Model', 'Gemma2ForCausalLM'),
    tokenizer: tokenizer('GemmaTokenizer', 'GemmaTokenizerFast'),
    transformer: denoiser('SanaTransformer2DModel'),
    vae: denoiser('AutoencoderDC'),
    scheduler: SCHEDULER,
  },
  denoiser: 'transformer',
  autoencoder: 'vae',
  readAutoencoder: readDCAutoencoder,
  latents: { patch: 1, frames: 1 },
  pipelines: [
    { classes: { 'text-to-image': 'SanaPipeline' }, strength: 'ceil', callArguments: () => ARGUMENTS },
  ],
  defaults: { steps: 20, guidance: 4.5 },
  namedDefaults: [],
  adapters: {
    parts: [
      transformerAdapters({ rename: originalNames, words: ORIGINAL_WORDS }),
      decoderAdapters('text_encoder'),
    ],
    signs: [
      { models: 'Sana', module: /transformer_blocks[._]\d+[._]ff[._]conv_(?:inverted|depth|point)$/ },
      { models: 'Sana', module: /transformer_blocks[._]\d+[._]attn1[._]to_q$/, columns: 2240 },
      PIXART_OR_SANA,
    ],
  },
  takes: ['maxSequenceLength', 'flowShift'],
  readsEmphasis: false,
  sigmas: null,
  files: SANA_FILES,
  open: openSana,
};

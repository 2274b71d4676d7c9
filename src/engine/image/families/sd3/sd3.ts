// Stable Diffusion 3 and 3.5: two CLIP encoders and, unless it is left out, T5 encode the prompt; a transformer denoises latents in patches of
// 2 × 2.

import { readAutoencoder } from '../../blocks/autoencoder.ts';
import {
  COMMON,
  integer,
  list,
  NEGATIVE,
  SIZE,
  STRENGTH,
  text,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import { SD3_FILES } from './sd3-layout.ts';
import type { ComponentFiles, FamilyDefaults, ImageFamily, ImpliedDefaults } from '../../blocks/family.ts';
import { SD3_ADAPTERS } from './sd3-adapters.ts';
import { LAYER_GUIDANCE } from './sd3-layer-guidance.ts';
import { openSD3, PATCH, type SD3Arguments } from './sd3-model.ts';
import { AUTOENCODER, denoiser, SCHEDULER, textEncoder, tokenizer } from '../../blocks/shared-components.ts';

const into = (field: keyof SD3Arguments) => ({ call: field });

const ARGUMENTS: CallArgumentTable = {
  ...COMMON,
  ...SIZE,
  ...NEGATIVE,
  prompt_2: text(into('prompt2')),
  prompt_3: text(into('prompt3')),
  negative_prompt_2: text(into('negative2')),
  negative_prompt_3: text(into('negative3')),
  clip_skip: integer(0, { request: 'clipSkip' }),
  sigmas: list('numbers between 0 and 1', (item) => item >= 0 && item <= 1, into('sigmas')),
  max_sequence_length: integer(1, { request: 'maxSequenceLength' }),
};

/** Values in the model cards of 3.5. */
const TURBO: FamilyDefaults = { steps: 4, guidance: 0 };
const LARGE: FamilyDefaults = { steps: 28, guidance: 3.5 };
const MEDIUM: FamilyDefaults = { steps: 40, guidance: 4.5 };

/** Versions differ in their blocks: 3.5 has norms of heads, and its medium model dual attention. */
function sd3Defaults({ transformer }: ComponentFiles): ImpliedDefaults {
  const { dual_attention_layers: dual, qk_norm: norm } = transformer?.config ?? {};
  if (Array.isArray(dual) && dual.length > 0)
    return { likely: { defaults: MEDIUM, from: 'transformer/config.json with dual_attention_layers' } };
  if (norm == null) return {};
  return { likely: { defaults: LARGE, from: 'transformer/config.json with qk_norm' } };
}

export const sd3Family: ImageFamily = {
  name: 'stable-diffusion-3',
  examples: '3 medium, 3.5 medium, 3.5 large, 3.5 large turbo',
  modelIds: /stable-diffusion-3|\bsd[-_]?3/i,
  components: {
    text_encoder: textEncoder('CLIPTextModelWithProjection'),
    tokenizer: tokenizer('CLIPTokenizer', 'CLIPTokenizerFast'),
    text_encoder_2: textEncoder('CLIPTextModelWithProjection'),
    tokenizer_2: tokenizer('CLIPTokenizer', 'CLIPTokenizerFast'),
    text_encoder_3: { ...textEncoder('T5EncoderModel'), optional: true },
    tokenizer_3: { ...tokenizer('T5TokenizerFast', 'T5Tokenizer'), optional: true },
    transformer: denoiser('SD3Transformer2DModel'),
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
        'text-to-image': 'StableDiffusion3Pipeline',
        'image-to-image': 'StableDiffusion3Img2ImgPipeline',
        inpainting: 'StableDiffusion3InpaintPipeline',
      },
      strength: 'ceil',
      callArguments: (task) => {
        if (task === 'text-to-image') return { ...ARGUMENTS, ...LAYER_GUIDANCE };
        const crop = { padding_mask_crop: integer(0, { call: 'maskPadding' }) };
        return { ...ARGUMENTS, ...STRENGTH, ...(task === 'inpainting' ? crop : {}) };
      },
    },
  ],
  defaults: { steps: 28, guidance: 7 },
  namedDefaults: [
    [/turbo/i, TURBO],
    [/3\.5.*large/i, LARGE],
    [/3\.5.*medium/i, MEDIUM],
  ],
  defaultsOf: sd3Defaults,
  adapters: SD3_ADAPTERS,
  takes: ['maxSequenceLength', 'flowShift'],
  readsEmphasis: false,
  sigmas: null,
  files: SD3_FILES,
  open: openSD3,
};

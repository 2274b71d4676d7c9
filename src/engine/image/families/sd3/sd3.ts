// Stable Diffusion 3 and 3.5: two CLIP encoders and, unless it is left out, T5 encode the prompt; a transformer denoises latents in patches of
// 2 × 2.

import type { LoraTarget } from '../../../../files/lora/scheme.ts';
import type { ComponentFiles, FamilyDefaults, ImageFamily, ImpliedDefaults } from '../../blocks/family.ts';
import {
  AUTOENCODER,
  CLIP_TOKENIZERS,
  denoiser,
  SCHEDULER,
  T5_ENCODER,
  T5_TOKENIZER,
  textEncoder,
  TRANSFORMER_FAMILY,
  classesOf,
} from '../../blocks/shared-components.ts';
import {
  byTask,
  COMMON,
  integer,
  MAX_LENGTH,
  NEGATIVE,
  SIGMAS,
  SIZE,
  text,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import { clipLora, t5Lora, transformerLora } from '../../layouts/lora-names.ts';
import { countNames } from '../../layouts/shapes.ts';
import { LAYER_GUIDANCE } from './sd3-layer-guidance.ts';
import { originalNames, SD3_FILES } from './sd3-layout.ts';
import { openSD3 } from './sd3-model.ts';
import type { SD3Arguments } from './sd3-texts.ts';

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
  ...SIGMAS,
  ...MAX_LENGTH,
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

/** Parts of original names that have underscores, which kohya's programs join by them. source: sd-scripts' networks/lora_sd3.py */
const WORDS = [
  ...['joint_blocks', 'x_block', 'context_block', 'adaLN_modulation', 'ln_q', 'ln_k', 'final_layer'],
  ...['x_embedder', 't_embedder', 'y_embedder', 'context_embedder'],
];

const BLOCKS =
  /(?:(?<!single_|joint_)transformer_blocks[._]\d+[._](?:attn2?|ff|ff_context|norm1|norm1_context)|joint_blocks[._]\d+)[._]/;
/** The second attention of some blocks. */
const SECOND =
  /(?<!single_)transformer_blocks[._]\d+[._]attn2[._]|joint_blocks[._]\d+[._]x_block[._]attn2[._]/;

const TRANSFORMER: LoraTarget = {
  ...transformerLora(),
  others(tensors) {
    const layers = countNames(tensors, (i) => `transformer_blocks.${i}.norm1.linear.weight`);
    return [{ rename: originalNames(layers - 1), words: WORDS }];
  },
};

export const sd3Family: ImageFamily = {
  ...TRANSFORMER_FAMILY,
  name: 'stable-diffusion-3',
  examples: '3 medium, 3.5 medium, 3.5 large, 3.5 large turbo',
  modelIds: /stable-diffusion-3|\bsd[-_]?3/i,
  components: {
    text_encoder: textEncoder('CLIPTextModelWithProjection'),
    tokenizer: CLIP_TOKENIZERS,
    text_encoder_2: textEncoder('CLIPTextModelWithProjection'),
    tokenizer_2: CLIP_TOKENIZERS,
    text_encoder_3: { ...T5_ENCODER, optional: true },
    tokenizer_3: { ...T5_TOKENIZER, optional: true },
    transformer: denoiser('SD3Transformer2DModel'),
    vae: AUTOENCODER,
    scheduler: SCHEDULER,
  },
  pipelines: [
    {
      classes: classesOf('StableDiffusion3'),
      strength: 'ceil',
      callArguments: (task) => ({
        ...byTask(ARGUMENTS)(task),
        ...(task === 'text-to-image' && LAYER_GUIDANCE),
      }),
    },
  ],
  defaults: { steps: 28, guidance: 7 },
  namedDefaults: [
    [/turbo/i, TURBO],
    [/3\.5.*large/i, LARGE],
    [/3\.5.*medium/i, MEDIUM],
  ],
  defaultsOf: sd3Defaults,
  lora: {
    parts: [
      TRANSFORMER,
      clipLora('text_encoder', { nth: 1, original: 'clip_l' }),
      clipLora('text_encoder_2', { nth: 2, original: 'clip_g' }),
      t5Lora('text_encoder_3', 3),
    ],
    signs: [
      { models: 'Stable Diffusion 3.5 medium', module: SECOND, width: 1536 },
      { models: 'Stable Diffusion 3', module: BLOCKS, width: 1536 },
      { models: 'Stable Diffusion 3.5 large', module: BLOCKS, width: 2432 },
      { models: 'Stable Diffusion 3', module: /joint_blocks[._]\d+[._](?:x|context)_block/, isVague: true },
    ],
  },
  sigmas: null,
  files: SD3_FILES,
  open: openSD3,
};

// Wan 2.1 and 2.2, which draw clips from a text, or from a text and the images of their first and last frame.

import type { ComponentFiles, ImageFamily, ImpliedDefaults } from '../../blocks/family.ts';
import { sizeOfArea } from '../../blocks/first-frame.ts';
import {
  denoiser,
  SCHEDULER,
  T5_TOKENIZER,
  textEncoder,
  TRANSFORMER_FAMILY,
} from '../../blocks/shared-components.ts';
import { CLIPS, MAX_LENGTH, number, type CallArgumentTable } from '../../calls/call-arguments.ts';
import { transformerLora } from '../../layouts/lora-names.ts';
import { ORIGINAL_WORDS, originalName, WAN_FILES } from './wan-layout.ts';
import { FIRST_GUIDANCE, openWan, readWanAutoencoder, type WanArguments } from './wan-model.ts';

/** `boundary`: the setting of model_index.json. */
function callArguments(boundary: unknown): CallArgumentTable {
  return {
    ...CLIPS,
    guidance_scale_2: {
      ...number('a number of at least 0', (value) => value >= 0, {
        call: 'guidance2' satisfies keyof WanArguments,
      }),
      ...(boundary == null && {
        unavailable: 'is for models with two transformers, and this one has one: leave it out',
      }),
    },
    ...MAX_LENGTH,
  };
}

const SMALL = { width: 832, height: 480 };
const LARGE = { width: 1280, height: 720 };
/** Layers of the model with 1.3 billion parameters. */
const SMALL_LAYERS = 30;

/** Defaults of the published models, by what tells them apart. */
function defaultsOf(
  { transformer }: ComponentFiles,
  { boundary_ratio: boundary, expand_timesteps: expands }: Readonly<Record<string, unknown>>,
): ImpliedDefaults {
  const {
    in_channels: inputs = 16,
    out_channels: channels = 16,
    num_layers: layers,
  } = transformer?.config ?? {};
  if (expands === true)
    return {
      certain: {
        defaults: { frames: 121, fps: 24, width: 1280, height: 704 },
        from: 'expand_timesteps in model_index.json',
      },
    };
  if (boundary != null) {
    const guidance = Number(inputs) > Number(channels) ? 3.5 : FIRST_GUIDANCE;
    return { certain: { defaults: { steps: 40, guidance, ...LARGE }, from: 'its two transformers' } };
  }
  if (Number(layers ?? 40) > SMALL_LAYERS) return {};
  return { certain: { defaults: { guidance: 3, ...SMALL }, from: `its ${Number(layers)} layers` } };
}

const LORA = transformerLora({ rename: originalName, words: ORIGINAL_WORDS });

const TRANSFORMER = denoiser('WanTransformer3DModel');

export const wanFamily: ImageFamily = {
  ...TRANSFORMER_FAMILY,
  name: 'wan',
  examples: 'Wan 2.1 T2V 1.3B and 14B, I2V and FLF2V 14B, Wan 2.2 T2V and I2V A14B, TI2V 5B',
  modelIds: /(?:^|[^a-z])wan[-_ ]?(?:2[._]?[12]|video)/i,
  readAutoencoder: readWanAutoencoder,
  components: {
    text_encoder: textEncoder('UMT5EncoderModel'),
    tokenizer: T5_TOKENIZER,
    image_encoder: {
      kind: 'model',
      library: 'transformers',
      classes: ['CLIPVisionModel', 'CLIPVisionModelWithProjection'],
      role: 'image encoder',
      optional: true,
      beside: 'image_processor',
    },
    transformer: TRANSFORMER,
    transformer_2: { ...TRANSFORMER, role: 'denoiser', optional: true },
    vae: { kind: 'model', library: 'diffusers', classes: ['AutoencoderKLWan', 'TAEHV'] },
    scheduler: SCHEDULER,
  },
  pipelines: [
    {
      classes: { 'text-to-image': 'WanPipeline', 'image-to-image': 'WanImageToVideoPipeline' },
      references: { most: 1, isFrames: true, sizeOf: sizeOfArea },
      strength: 'ceil',
      callArguments: (_, { settings }) => callArguments(settings['boundary_ratio']),
    },
  ],
  defaults: { frames: 81, fps: 16, steps: 50, guidance: 5, ...LARGE },
  namedDefaults: [[/wan.*480p/i, { ...SMALL, guidance: 5 }]],
  defaultsOf,
  takes: [...TRANSFORMER_FAMILY.takes, 'lastImage'],
  sigmas: null,
  files: WAN_FILES,
  lora: {
    parts: [
      LORA,
      { ...LORA, component: 'transformer_2', dotted: ['transformer_2.'], flat: [] },
      { ...LORA, component: 'transformer_2', named: /low[-_ ]?noise/i },
    ],
    signs: [
      {
        models: 'Wan',
        module: /(?:^|\.|lora_unet_)blocks[._]\d+[._](?:self_attn|cross_attn|ffn|attn[12])[._]/,
      },
    ],
  },
  open: openWan,
};

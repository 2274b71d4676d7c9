// Wan 2.1 and 2.2, which draw clips from a text.

import type { ImageFamily } from '../../blocks/family.ts';
import {
  denoiser,
  SCHEDULER,
  T5_TOKENIZER,
  textEncoder,
  TRANSFORMER_FAMILY,
} from '../../blocks/shared-components.ts';
import {
  COMMON,
  integer,
  MAX_LENGTH,
  NEGATIVE,
  number,
  SIZE,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import { openWan, readWanAutoencoder, type WanArguments } from './wan-model.ts';

const { num_images_per_prompt: samples, ...SHARED } = COMMON;

/** `boundary`: the setting of model_index.json. */
function callArguments(boundary: unknown): CallArgumentTable {
  return {
    ...SHARED,
    ...SIZE,
    num_frames: integer(1, { request: 'frames' }),
    num_videos_per_prompt: samples!,
    ...NEGATIVE,
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

const TRANSFORMER = denoiser('WanTransformer3DModel');

export const wanFamily: ImageFamily = {
  ...TRANSFORMER_FAMILY,
  name: 'wan',
  examples: 'Wan 2.1 T2V 1.3B and 14B, Wan 2.2 T2V A14B and TI2V 5B',
  modelIds: /(?:^|[^a-z])wan[-_ ]?(?:2[._]?[12]|video)/i,
  readAutoencoder: readWanAutoencoder,
  components: {
    text_encoder: textEncoder('UMT5EncoderModel'),
    tokenizer: T5_TOKENIZER,
    transformer: TRANSFORMER,
    transformer_2: { ...TRANSFORMER, role: 'denoiser', optional: true },
    vae: { kind: 'model', library: 'diffusers', classes: ['AutoencoderKLWan'] },
    scheduler: SCHEDULER,
  },
  pipelines: [
    {
      classes: { 'text-to-image': 'WanPipeline' },
      strength: 'ceil',
      callArguments: (_, { settings }) => callArguments(settings['boundary_ratio']),
    },
  ],
  defaults: { frames: 81, fps: 16, steps: 50, guidance: 5, width: 832, height: 480 },
  sigmas: null,
  open: (components, pipeline) => openWan(components, pipeline, () => undefined),
};

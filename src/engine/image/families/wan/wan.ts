// Wan 2.1 and 2.2, which draw clips from a text, or from a text and the images of their first and last frame.

import type { ImageFamily } from '../../blocks/family.ts';
import { sizeOfArea } from '../../blocks/first-frame.ts';
import {
  denoiser,
  SCHEDULER,
  T5_TOKENIZER,
  textEncoder,
  TRANSFORMER_FAMILY,
} from '../../blocks/shared-components.ts';
import { CLIPS, MAX_LENGTH, number, type CallArgumentTable } from '../../calls/call-arguments.ts';
import { openWan, readWanAutoencoder, type WanArguments } from './wan-model.ts';

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
    image_encoder: {
      kind: 'model',
      library: 'transformers',
      classes: ['CLIPVisionModel', 'CLIPVisionModelWithProjection'],
      role: 'image encoder',
      optional: true,
    },
    transformer: TRANSFORMER,
    transformer_2: { ...TRANSFORMER, role: 'denoiser', optional: true },
    vae: { kind: 'model', library: 'diffusers', classes: ['AutoencoderKLWan'] },
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
  defaults: { frames: 81, fps: 16, steps: 50, guidance: 5, width: 832, height: 480 },
  takes: [...TRANSFORMER_FAMILY.takes, 'lastImage'],
  sigmas: null,
  open: (components, pipeline) => openWan(components, pipeline, () => undefined),
};

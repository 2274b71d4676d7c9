// LTX-Video, which draws clips from a text, or from a text and the image of their first frame.

import type { ImageFamily } from '../../blocks/family.ts';
import { sizeOfArea } from '../../blocks/first-frame.ts';
import {
  denoiser,
  SCHEDULER,
  T5_ENCODER,
  T5_TOKENIZER,
  TRANSFORMER_FAMILY,
} from '../../blocks/shared-components.ts';
import {
  CLIPS,
  MAX_LENGTH,
  number,
  RESCALE,
  type CallArgument,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import { transformerLora, t5Lora } from '../../layouts/lora-names.ts';
import { linearQuadraticSigmas } from '../../schedules/flow-sigmas.ts';
import { LTX_CONDITION_FILES, LTX_FILES, ORIGINAL_WORDS, originalName } from './ltx-layout.ts';
import { openLTX, type LTXArguments } from './ltx-model.ts';

const share = (call: keyof LTXArguments): CallArgument =>
  number('a number from 0 to 1', (value) => value >= 0 && value <= 1, { call });

/** Published versions whose models take conditions. */
const LATER = /(?:^|[^a-z])ltx[-_ ]?v.*0[._]9[._][5-9]/i;

const CALL_ARGUMENTS: CallArgumentTable = {
  ...CLIPS,
  frame_rate: number('a number above 0', (value) => value > 0, { request: 'fps' }),
  ...RESCALE,
  decode_timestep: share('decodeTime'),
  decode_noise_scale: share('decodeNoise'),
  ...MAX_LENGTH,
};

/** Modules by which LoRAs are known, beside their width. */
const LORA_MODULE = /(?:^|\.|lora_unet_)transformer_blocks[._]\d+[._]attn[12][._]/;

export const ltxFamily: ImageFamily = {
  ...TRANSFORMER_FAMILY,
  name: 'ltx-video',
  examples: 'LTX-Video 2B 0.9.0 and 0.9.1',
  modelIds: /(?:^|[^a-z])ltx[-_ ]?v/i,
  components: {
    text_encoder: T5_ENCODER,
    tokenizer: T5_TOKENIZER,
    transformer: denoiser('LTXVideoTransformer3DModel'),
    vae: { kind: 'model', library: 'diffusers', classes: ['AutoencoderKLLTXVideo', 'TAEHV'] },
    scheduler: SCHEDULER,
  },
  latents: { patch: 1 },
  pipelines: [
    {
      classes: { 'text-to-image': 'LTXPipeline', 'image-to-image': 'LTXImageToVideoPipeline' },
      references: { most: 1, isFrames: true, sizeOf: sizeOfArea },
      strength: 'ceil',
      callArguments: () => CALL_ARGUMENTS,
    },
  ],
  defaults: { frames: 161, fps: 25, steps: 50, guidance: 3, width: 704, height: 512 },
  namedDefaults: [[/distilled/i, { steps: 8, guidance: 1 }]],
  files: LTX_FILES,
  lora: {
    parts: [transformerLora({ rename: originalName, words: ORIGINAL_WORDS }), t5Lora('text_encoder', 1)],
    signs: [
      { models: 'LTX-Video', module: LORA_MODULE, width: 2048 },
      { models: 'LTX-Video', module: LORA_MODULE, width: 4096 },
    ],
  },
  takes: [...TRANSFORMER_FAMILY.takes, 'guidanceRescale'],
  open: (components) => openLTX(components, { takesConditions: false }),
};

/** Versions from 0.9.5 on: other steps and positions, and the image of a first frame gets a little noise in each step. */
export const ltxConditions: ImageFamily = {
  ...ltxFamily,
  name: 'ltx-video-conditions',
  examples: 'LTX-Video 2B 0.9.5 and 0.9.6, 13B 0.9.7 and 0.9.8',
  modelIds: LATER,
  pipelines: [
    {
      classes: { 'text-to-image': 'LTXConditionPipeline' },
      references: { most: 1, isFrames: true, sizeOf: sizeOfArea },
      strength: 'ceil',
      callArguments: () => ({
        ...CALL_ARGUMENTS,
        image_cond_noise_scale: number('a number of at least 0', (value) => value >= 0, {
          call: 'imageNoise' satisfies keyof LTXArguments,
        }),
      }),
    },
  ],
  sigmas: linearQuadraticSigmas,
  files: LTX_CONDITION_FILES,
  open: (components) => openLTX(components, { takesConditions: true }),
};

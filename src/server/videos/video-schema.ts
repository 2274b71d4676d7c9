// The fields of a request for a video: OpenAI's, and additional fields of SGLang and of this project; and the rules that involve more
// than one of them.

import { z } from 'zod';
import { VIDEO_FORMATS } from '../../index.ts';
import { type Checked, bodyChecker } from '../body/body.ts';
import { filled } from '../body/bounded.ts';
import { type FieldTable, honoured, neutralOnly, pickFields } from '../body/fields.ts';
import { refuseField } from '../http/errors.ts';
import { checkSeeds, checkSides, IMAGE_FIELDS, MOST_IMAGES, upload } from '../images/image-schema.ts';

const count = z.int().min(1).max(MOST_IMAGES);
const scale = z.number().min(0);
const seconds = z.union([
  z.number().gt(0),
  z.string().refine((text) => /^\d{1,6}(\.\d+)?$/.test(text) && Number(text) > 0, {
    error: 'must be a number of seconds above 0, as "4"',
  }),
]);
const INTERPOLATED = 'Frames between those that are drawn.';
const SOURCE_VIDEO = 'Video to start from; an image is sent as input_reference.';
const PROFILE = 'Trace on the server; svc generate has --perf-dump-path.';

/** Quality in per cent if none is asked for. */
export const DEFAULT_QUALITY = 75;

export const VIDEO_FIELDS = {
  ...pickFields(IMAGE_FIELDS, 'prompt', 'model'),
  input_reference: honoured(
    z.union([upload, filled]),
    'Image to start from: PNG, JPEG, WebP or BMP as a file of a form, an http:, https: or data: URL, or {"image_url": URL}.',
  ),
  reference_url: honoured(filled, 'The same as a URL.'),
  seconds: honoured(
    seconds,
    'Length, as 4 or "4": fps x seconds frames, or the nearest number that the model draws; num_frames comes first. Left out, the model\'s own.',
  ),
  ...pickFields(IMAGE_FIELDS, 'fps', 'num_frames', 'size', 'width', 'height'),
  n: honoured(count, 'Videos to draw.', 1),
  num_outputs_per_prompt: honoured(count, 'Another name of n.', 1),
  ...pickFields(
    IMAGE_FIELDS,
    ...([
      'negative_prompt',
      'num_inference_steps',
      'guidance_scale',
      'guidance_rescale',
      'scheduler',
      'flow_shift',
      'max_sequence_length',
      'seed',
      'generator_device',
      'lora_path',
      'lora_scale',
      'vae_tiling',
      'enable_teacache',
      'enable_upscaling',
      'upscaling_scale',
      'upscaling_model_path',
      'diffusers_kwargs',
    ] as const),
  ),
  guidance_scale_2: honoured(scale, 'Guidance of the second of two denoisers, in models that have two.'),
  true_cfg_scale: honoured(scale, 'A second guidance scale, of models with distilled guidance.'),
  output_format: honoured(
    z.enum(VIDEO_FORMATS),
    'File format: MP4 with H.264, WebM with VP9 (with the package @mediabunny/server), or an animated image.',
    VIDEO_FORMATS[0],
  ),
  output_compression: honoured(
    z.int().min(0).max(100),
    'Quality of MP4, WebM and WebP, in per cent.',
    DEFAULT_QUALITY,
  ),
  ...pickFields(IMAGE_FIELDS, 'output_quality'),

  video_path: neutralOnly(SOURCE_VIDEO),
  video_url: neutralOnly(SOURCE_VIDEO),
  video_reference: neutralOnly(SOURCE_VIDEO),
  enable_frame_interpolation: neutralOnly(INTERPOLATED, false),
  frame_interpolation_exp: neutralOnly(INTERPOLATED, 1),
  frame_interpolation_scale: neutralOnly(INTERPOLATED, 1),
  frame_interpolation_model_path: neutralOnly(INTERPOLATED),
  output_path: neutralOnly('Folder on the server, which its operator chooses by --output-path.'),
  perf_dump_path: neutralOnly('File on the server for times; svc generate has it.'),
  profile: neutralOnly(PROFILE, false),
  num_profiled_timesteps: neutralOnly(PROFILE),
  profile_all_stages: neutralOnly(PROFILE, false),
  task: neutralOnly('What to do of several things; the fields that are sent say it.'),
  conditions: neutralOnly('Conditions of tasks that are not built.'),
  target: neutralOnly('Target of tasks that are not built.'),
  audio_flow_shift: neutralOnly('Shift of the noise schedule of a sound; videos are silent.'),
} satisfies FieldTable;

export type VideoBody = Checked<typeof VIDEO_FIELDS, 'prompt'>;

/** `ignored`: names that nothing here reads; with `strict` they are an error. */
export const checkVideo = bodyChecker({
  fields: VIDEO_FIELDS,
  required: ['prompt'],
  // An empty value of these fields does not count as left out: a file has no enumerable members, and an empty list of seeds is an error.
  mayBeEmpty: ['input_reference', 'seed'],
  remedies: { prompt: ': say what to draw' },
  checkTogether(body) {
    const { n, num_outputs_per_prompt: outputs = n, input_reference: reference, reference_url: url } = body;
    if (n !== undefined && outputs !== n)
      refuseField('num_outputs_per_prompt', `is ${outputs}, and n is ${n}; send one of them`);
    if (reference !== undefined && url !== undefined)
      refuseField('reference_url', 'gives an image, and input_reference another; send one of them');
    const lossy = (['output_compression', 'output_quality'] as const).find(
      (name) => body[name] !== undefined,
    );
    if (lossy && body.output_format === 'gif')
      refuseField(lossy, 'is for mp4, webm and webp, and GIF has no quality; leave it out');
    checkSeeds({ ...body, n: outputs });
    checkSides(body);
  },
});

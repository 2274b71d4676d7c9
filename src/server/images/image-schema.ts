// The fields of a request for images: OpenAI's, and additional fields of SGLang and of this project; and the rules that involve more
// than one of them.

import { z } from 'zod';
import { IMAGE_FORMATS } from '../../index.ts';
import { IMAGE_SAMPLING } from '../../options/image-request.ts';
import { fieldsOf } from '../body/setting-fields.ts';
import { list, record } from '../body/bounded.ts';
import {
  type FieldTable,
  type HonouredBody,
  honoured,
  neutralOnly,
  noEffect,
  isEmpty,
  isObject,
} from '../body/fields.ts';
import { bodyChecker } from '../body/body.ts';
import { refuseField } from '../http/errors.ts';

/** Limit on the images of one request. */
export const MOST_IMAGES = 10;
const MOST_PREVIEWS = 3;

/** Quality in per cent of JPEG and WebP files. */
const QUALITIES = { low: 35, medium: 55, high: 90, maximum: 100 };

/** The quality that a request asks for; `usual`: that of requests which say nothing. */
export function qualityIn(
  { output_compression: percent, output_quality: word = 'default' }: QualityBody,
  usual = 100,
): number {
  return Math.max(1, percent ?? (word === 'default' ? usual : QUALITIES[word]));
}

type QualityBody = Pick<ImageBody, 'output_compression' | 'output_quality'>;

const QUALITY_WORDS = Object.keys(QUALITIES) as (keyof typeof QUALITIES)[];

const { n: _n, width, height, strength, ...others } = fieldsOf(IMAGE_SAMPLING, 'images');
const seed = z
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER - MOST_IMAGES);
export const upload = z.custom<File>((value) => value instanceof File, { error: 'must be a file' });
const size = z.string().refine((text) => /^(auto|\d{1,5}x\d{1,5})$/.test(text), {
  error: 'must be "auto" or width x height, as "1024x1024"',
});
/** Limit on the images that a model edits at once. */
const MOST_SOURCES = 16;
const dataUrl = z.string().refine((text) => /^data:[^,]*;base64,/.test(text), {
  error: 'must be a data: URL in base64, as this server fetches nothing; or send the image itself as image',
  params: { code: 'unsupported' },
});
/** Limit on the images of ControlNets. */
const MOST_CONTROLS = 8;
const sentImage = z.union([upload, dataUrl]);
const kwargs = record(z.unknown());

export const IMAGE_FIELDS = {
  prompt: honoured(z.string(), 'What to draw; "" is valid, and leaves the choice to the model.'),
  model: honoured(z.string().min(1), 'A served name, its last segment, or "default".', 'default'),
  n: honoured(z.int().min(1).max(MOST_IMAGES), 'Images to draw.', 1),
  size: honoured(
    size,
    'Width x height, as "512x512"; "auto" is the model\'s own, or that of the image it starts from.',
    'auto',
  ),
  width: { ...width, help: 'Pixels, in place of size.' },
  height: { ...height, help: 'Pixels, in place of size.' },
  ...others,
  seed: honoured(
    z.union([seed, list(seed, MOST_IMAGES).min(1)]),
    'The same seed draws the same image; image i uses seed + i, or entry i of a list. Left out, drawn at random and told.',
  ),
  control_image: honoured(
    z.union([sentImage, list(sentImage, MOST_CONTROLS).min(1)]),
    'PNG, JPEG, WebP or BMP for the ControlNets of the model, one for each: data: URLs, or files of a form.',
  ),
  ip_adapter_image: honoured(
    sentImage,
    'PNG, JPEG, WebP or BMP for the IP-Adapter of the model: a data: URL, or a file of a form.',
  ),
  upscaling_model_path: honoured(
    z.string(),
    'The network that the server was started with (--upscaling-model-path), which enlarges results; no other is read.',
  ),
  diffusers_kwargs: honoured(
    kwargs,
    'Call arguments of the diffusers pipeline, under its names; the fields here come first.',
  ),
  generic_kwargs: honoured(kwargs, 'Another name of diffusers_kwargs.'),
  response_format: honoured(
    z.enum(['b64_json', 'url']),
    'The images themselves, or where they are kept for an hour.',
    'b64_json',
  ),
  output_format: honoured(z.enum(IMAGE_FORMATS), 'File format.', 'png'),
  output_compression: honoured(z.int().min(0).max(100), 'Quality of JPEG and WebP, in per cent.', 100),
  output_quality: honoured(
    z.enum(['default', ...QUALITY_WORDS]),
    'The same in words: 35, 55, 90 or 100; output_compression comes first.',
    'default',
  ),
  stream: honoured(z.boolean(), 'Answer as server-sent events.', false),
  partial_images: honoured(z.int().min(0).max(MOST_PREVIEWS), 'Previews of each image, with stream.', 0),

  background: neutralOnly('Transparent or opaque; images are opaque.', 'auto', 'opaque'),
  true_cfg_scale: neutralOnly('A second guidance scale, of models with distilled guidance.'),
  perf_dump_path: neutralOnly('File on the server for times; svc generate has it.'),

  quality: noEffect(
    "How much work to put in, in OpenAI's words: auto, standard, hd, low, medium, high; num_inference_steps says it.",
    'auto',
    'standard',
    'hd',
    'low',
    'medium',
    'high',
  ),
  style: noEffect('Vivid or natural; the prompt says it.', 'vivid', 'natural'),
  user: noEffect('Who asks.'),
  moderation: noEffect('How strictly to filter; nothing is filtered.'),
} satisfies FieldTable;

/** Additional fields of POST /v1/images/edits. */
export const EDIT_FIELDS = {
  image: honoured(
    z.union([upload, list(upload, MOST_SOURCES).min(1)]),
    'PNG, JPEG, WebP or BMP to start from, one; several (as image[]) for models that edit several.',
  ),
  url: honoured(dataUrl, 'The same as a data: URL.'),
  mask: honoured(
    upload,
    'Image of the same proportions, drawn anew where it is transparent, or white where nothing of it is.',
  ),
  strength: {
    ...strength,
    help: 'Share of the steps taken from the image: higher keeps less; left out, 0.8, or 1 with a mask.',
  },
  input_fidelity: neutralOnly('How close to stay to the image; strength says it.', 'low'),
} satisfies FieldTable;

export const ALL_FIELDS = { ...IMAGE_FIELDS, ...EDIT_FIELDS };

/** The honoured fields of generations and edits; `null` counts as left out. */
export type ImageBody = HonouredBody<typeof ALL_FIELDS>;

export type Operation = 'generation' | 'edit';

const check = bodyChecker({
  fields: ALL_FIELDS,
  required: ['prompt'],
  // An empty value of these fields does not count as left out: a file has no enumerable members, and an empty list of seeds is an error.
  mayBeEmpty: ['image', 'mask', 'control_image', 'ip_adapter_image', 'seed'],
  remedies: { prompt: ': say what to draw' },
  checkTogether,
});

/** `ignored`: names that nothing here reads; with `strict` they are an error. */
export function validateImage(
  value: unknown,
  operation: Operation,
  strict: boolean,
): ReturnType<typeof check> {
  if (operation === 'generation' && isObject(value)) refuseEditFields(value);
  const checked = check(value, strict);
  if (operation === 'edit') checkSourceImage(checked.body);
  return checked;
}

function refuseEditFields(value: object): void {
  const name = Object.keys(EDIT_FIELDS).find((field) => !isEmpty(Reflect.get(value, field)));
  const why = 'is for drawing from an image; send it to POST /v1/images/edits, or leave it out';
  if (name !== undefined) refuseField(name, why, 'unsupported');
}

function checkTogether(body: ImageBody): void {
  checkSeeds(body);
  const { partial_images: previews = 0 } = body;
  if (previews > 0 && !body.stream) {
    refuseField('partial_images', 'needs stream to be true; send both or neither');
  }
  if (body.stream && body.response_format === 'url') {
    refuseField('response_format', 'is url, and a stream carries the images themselves; send b64_json');
  }
  const loses = {
    output_compression: (body.output_compression ?? 100) !== 100,
    output_quality: isLossy(body),
  };
  for (const [name, lossy] of Object.entries(loses)) {
    if (lossy && (body.output_format ?? 'png') === 'png')
      refuseField(name, 'is for jpeg and webp, and PNG loses nothing; leave it out');
  }
  if (body.generic_kwargs && body.diffusers_kwargs) {
    refuseField('generic_kwargs', 'is another name of diffusers_kwargs; send one of them');
  }
  checkSides(body);
}

/** Refuses a list of seeds that is not as long as the results are many. */
export function checkSeeds({ seed, n }: Pick<ImageBody, 'seed' | 'n'>): void {
  if (!Array.isArray(seed) || n === undefined || seed.length === n) return;
  const entries = seed.length === 1 ? '1 entry' : `${seed.length} entries`;
  refuseField('seed', `has ${entries}, and n is ${n}; send one for each image`);
}

/** Refuses a width or height beside a size that says another. */
export function checkSides(body: Pick<ImageBody, 'size' | 'width' | 'height'>): void {
  if (body.size === undefined || body.size === 'auto') return;
  for (const [at, side] of (['width', 'height'] as const).entries()) {
    if (body[side] === undefined || Number(body.size.split('x')[at]) === body[side]) continue;
    refuseField(side, `is ${body[side]}, and size is ${body.size}; send one of them`);
  }
}

/** Returns true for a quality that lossless PNG cannot have. */
const isLossy = ({ output_quality: word }: ImageBody): boolean => word === 'low' || word === 'medium';

function checkSourceImage({ image, url }: ImageBody): void {
  if (image && url !== undefined) refuseField('url', 'gives an image, and image another; send one of them');
  if (!image && url === undefined)
    refuseField('image', 'is required: the image to start from', 'missing_required_parameter');
}

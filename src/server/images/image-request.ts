// Converts the fields of a request to the engine's image requests.

import { say, textOf } from '../../files/message.ts';
import { randomInt } from 'node:crypto';
import { modelOption } from '../../options/names.ts';
import {
  type ImageEvent,
  type ImageModelInfo,
  coverImage,
  EngineError,
  type ResolvedImageRequest,
} from '../../index.ts';
import { fieldError, RequestError } from '../http/errors.ts';
import { IMAGE_SAMPLING } from '../../options/image-request.ts';
import { fieldNames, settingsIn } from '../body/setting-fields.ts';
import { withoutMissing } from '../body/fields.ts';
import type { DecodedRequest } from './image-sources.ts';
import { type ImageBody, MOST_IMAGES } from './image-schema.ts';

/** The fields of a request that are read by name, beside those of the table of settings. */
type AskedBody = { prompt: string } & Pick<
  ImageBody,
  'seed' | 'n' | 'size' | 'width' | 'height' | 'diffusers_kwargs' | 'generic_kwargs'
>;

/** The engine's requests without their images: one for all images to draw, or one for each entry of a list of seeds. */
export function toImageRequests(body: AskedBody): [DecodedRequest, ...DecodedRequest[]] {
  const { seed = randomInt(2 ** 32), n } = body;
  const kwargs = body.diffusers_kwargs ?? body.generic_kwargs;
  const { samples: _, ...drawn } = settingsIn(body, IMAGE_SAMPLING, 'images');
  const common = withoutMissing({
    prompt: body.prompt,
    ...drawn,
    kwargs,
    ...sizeAsked(body),
  });
  if (!Array.isArray(seed)) return [{ ...common, seed, ...(n !== undefined && { samples: n }) }];
  const [first, ...others] = seed.map((one) => ({ ...common, seed: one, samples: 1 }));
  return [first ?? { ...common, seed: 0 }, ...others];
}

function sizeAsked({ size, width, height }: AskedBody): { width?: number; height?: number } {
  const [, wide, high] = /^(\d+)x(\d+)$/.exec(size ?? '') ?? [];
  if (wide !== undefined && high !== undefined) return { width: Number(wide), height: Number(high) };
  return withoutMissing({ width, height });
}

/**
 * Scales the source images to the size that is drawn, because a photograph in its own size takes far more memory. Models that edit see
 * them in sizes of their own.
 */
export async function fitSources(
  requests: DecodedRequest[],
  { width, height }: Pick<ResolvedImageRequest, 'width' | 'height'>,
  { edits }: Pick<ImageModelInfo['supports'], 'edits'>,
): Promise<DecodedRequest[]> {
  const [{ image, mask, kwargs } = {}] = requests;
  // With padding_mask_crop only a part of the source images is drawn, so they keep their size.
  if (!image || edits > 0 || (mask && typeof kwargs?.['padding_mask_crop'] === 'number')) return requests;
  const fitted = {
    width,
    height,
    image: await coverImage(image, width, height),
    ...(mask && { mask: await coverImage(mask, width, height) }),
  };
  return requests.map((request) => ({ ...request, ...fitted }));
}

/** Refuses a network that enlarges results in place of the one that the server was started with: a client names no files to read. */
export function checkUpscaler(
  {
    upscaling_model_path: path,
    enable_upscaling: isEnabled,
  }: Pick<ImageBody, 'upscaling_model_path' | 'enable_upscaling'>,
  { upscaler }: Pick<ImageModelInfo, 'upscaler'>,
): void {
  if (path !== undefined && path === upscaler?.path && isEnabled !== true)
    throw fieldError(
      'upscaling_model_path',
      'enlarges nothing by itself: add enable_upscaling, or leave it out',
    );
  if (path === undefined || path === upscaler?.path) return;
  const own = upscaler ? `was started with ${upscaler.path}` : 'was started without a network';
  throw fieldError(
    'upscaling_model_path',
    `is ${path}, and this server ${own}; leave it out, or start the server with --upscaling-model-path ${path}`,
  );
}

/** Refuses more images than a request may draw, and clips, which these routes do not answer with. */
export function checkCount({ samples, frames }: ResolvedImageRequest): void {
  if (frames > 1)
    throw new RequestError(
      'invalid_value',
      `an image has one frame, and ${frames} would be drawn: give num_frames 1, or send it to POST /v1/videos`,
      {
        param: 'num_frames',
      },
    );
  if (samples <= MOST_IMAGES) return;
  throw new RequestError('invalid_value', `one request draws at most ${MOST_IMAGES} images, got ${samples}`, {
    param: 'n',
  });
}

/** Names of fields by the engine's names. */
type ClientNames = Partial<Record<string, string>>;

const SETTING_NAMES: ClientNames = Object.fromEntries(fieldNames(IMAGE_SAMPLING, 'images'));

const FIELD_NAMES: ClientNames = { controlImages: 'control_image', ipAdapterImage: 'ip_adapter_image' };

/** Call arguments that have a different name in diffusers than in a request. */
const KWARGS_NAMES: Partial<Record<string, string>> = { samples: 'num_images_per_prompt' };

type NamedBody = Pick<AskedBody, 'size' | 'width' | 'height' | 'diffusers_kwargs' | 'generic_kwargs'>;

/** Returns the engine's error with the client's names of the fields; `names`: those that are not in the table of settings. */
export function underFieldName(error: unknown, body: NamedBody, names: ClientNames = FIELD_NAMES): unknown {
  if (!(error instanceof EngineError)) return error;
  const kwargs = body.generic_kwargs === undefined ? 'diffusers_kwargs' : 'generic_kwargs';
  const nameOf = (field: string): string =>
    field === 'kwargs' ? kwargs : (names[field] ?? SETTING_NAMES[field] ?? field);
  const named = error.withPaths(nameOf);
  const { param } = error;
  if (param === null) return named;
  const isSide = param === 'width' || param === 'height';
  const inner = KWARGS_NAMES[param] ?? nameOf(param);
  const isField = Object.hasOwn(body, nameOf(param));
  if (!isField && Object.hasOwn(body[kwargs] ?? {}, inner)) return named.underName(`${kwargs}.${inner}`);
  // An error about the width or height names `size` as its field; the message still says which side is wrong.
  if (isSide && body[param] === undefined && body.size !== undefined)
    return new EngineError(error.code, say`size: ${named}`, { param: 'size', cause: error.cause });
  return named.underName(nameOf(param));
}

/** Events whose error has the client's names of the fields. */
export async function* underFieldNames(
  events: AsyncIterable<ImageEvent>,
  body: NamedBody,
): AsyncGenerator<ImageEvent, void, void> {
  try {
    yield* events;
  } catch (error) {
    throw underFieldName(error, body);
  }
}

/** The text of an engine's note for the server's log. */
export function noteText(note: Extract<ImageEvent, { type: 'note' }>): string {
  return textOf(note.parts ? { parts: note.parts } : note.message, {
    option: modelOption,
    field: (name) => FIELD_NAMES[name] ?? SETTING_NAMES[name],
  });
}

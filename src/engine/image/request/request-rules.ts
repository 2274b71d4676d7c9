// Validation rules for the fields of a request for images, under the library's names, and what completes a checked request: its image files are
// decoded, and a seed is drawn where none is given. What a model takes of valid values is judged when the request is resolved.

import { IMAGE_SAMPLING } from '../../../options/image-request.ts';
import { otherNamesOf } from '../../../options/setting.ts';
import {
  anything,
  checkOptions,
  listOf,
  recordOf,
  refuse,
  type Rule,
  rulesOf,
  text,
  whole,
} from '../../input/rules.ts';
import type { Platform } from '../../platform/platform.ts';
import type { CompleteImageRequest, ImageInput, ImageRequest, Pixels } from '../calls/image-model.ts';

const WANTED = 'the bytes of an image file as a Uint8Array, or pixels as { width, height, data }';

/** The bytes of a file, or pixels. */
const image: Rule = (value, name) => {
  if (value instanceof Uint8Array) return;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(value, name, WANTED);
  const { width, height, data } = value as Record<string, unknown>;
  if (width === undefined && height === undefined) refuse(value, name, WANTED);
  whole(1)(width, `${name}.width`);
  whole(1)(height, `${name}.height`);
  const size = 3 * (width as number) * (height as number);
  const wanted = `a Uint8Array of ${size} bytes, three for each of ${String(width)} × ${String(height)} pixels`;
  if (!(data instanceof Uint8Array)) refuse(data, `${name}.data`, wanted);
  if (data.length !== size) refuse(data, `${name}.data`, `${wanted}, and not of ${data.length}`);
};

/** Bounds depend on the model, whose message names the nearest sizes. */
const side: Rule = (value, name) => {
  if (typeof value !== 'number') refuse(value, name, 'a whole number of pixels');
};

const IMAGE_REQUEST: Record<keyof Required<ImageRequest>, Rule> = {
  ...rulesOf(IMAGE_SAMPLING),
  width: side,
  height: side,
  prompt: text,
  seed: whole(0, Number.MAX_SAFE_INTEGER),
  image,
  furtherImages: listOf(image),
  lastImage: image,
  mask: image,
  ipAdapterImage: image,
  controlImages: listOf(image),
  previews: whole(0),
  kwargs: recordOf(anything),
};

const OTHER_NAMES = otherNamesOf(IMAGE_SAMPLING);

/** Throws bad_request for the first field that is unknown, missing or no value of its kind. */
export function checkImageRequest(request: ImageRequest): void {
  checkOptions(request, IMAGE_REQUEST, 'a request', ['prompt'], OTHER_NAMES);
}

/** Seeds that are drawn lie below this number, as those of the command line. */
const SEEDS = 2 ** 32;

/** Throws bad_request for a file that is not decoded, by the field that holds it. */
export async function completeRequest(
  { images }: Pick<Platform, 'images'>,
  {
    seed = drawSeed(),
    image,
    furtherImages,
    lastImage,
    mask,
    ipAdapterImage,
    controlImages,
    ...rest
  }: ImageRequest,
): Promise<CompleteImageRequest> {
  const decoded = async (given: ImageInput, name: string): Promise<Pixels> =>
    given instanceof Uint8Array ? images.image(given, name) : given;
  const all = async (given: readonly ImageInput[], name: string): Promise<Pixels[]> => {
    const pixels: Pixels[] = [];
    for (const [i, one] of given.entries()) pixels.push(await decoded(one, `${name}.${i}`));
    return pixels;
  };
  return {
    ...rest,
    seed,
    ...(image && { image: await decoded(image, 'image') }),
    ...(furtherImages && { furtherImages: await all(furtherImages, 'furtherImages') }),
    ...(lastImage && { lastImage: await decoded(lastImage, 'lastImage') }),
    ...(mask && { mask: mask instanceof Uint8Array ? await images.mask(mask, 'mask') : mask }),
    ...(ipAdapterImage && { ipAdapterImage: await decoded(ipAdapterImage, 'ipAdapterImage') }),
    ...(controlImages && { controlImages: await all(controlImages, 'controlImages') }),
  };
}

function drawSeed(): number {
  return Math.floor(Math.random() * SEEDS);
}

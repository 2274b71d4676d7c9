// Checks of a request whose values are resolved: bounds, the inputs that its pipeline class needs, fields that only some families
// take. Each throws bad_request with the name of the field.

import { type Prose, field, say, subject } from '../../../files/message.ts';
import { badRequest } from '../../../files/error.ts';
import { checkFrameImages } from './frame-images.ts';
import { LIMITS } from '../../../options/limits.ts';
import type { ImageFamily } from '../blocks/family.ts';
import type { CompleteImageRequest, ResolvedImageRequest } from '../calls/image-model.ts';
import type { Resolved, ResolveContext } from '../stages/resolved.ts';

// Each of these describes the problem with a value of a request or of a model's own settings, or returns null.

/** Describes the problem with a side of the image in pixels; null: none. */
export function sideProblem(value: number, multiple: number): string | null {
  if (!Number.isInteger(value) || value < multiple || value > LIMITS.side)
    return `is ${value}; it is an integer from ${multiple} to ${LIMITS.side}`;
  if (value % multiple === 0) return null;
  const below = Math.floor(value / multiple) * multiple;
  return `is ${value}, which is not a multiple of ${multiple}; the nearest are ${below} and ${below + multiple}`;
}

/** Describes the problem with a number of frames, of which each latent after the first stands for `perLatent`; null: none. */
export function framesProblem(value: number, perLatent: number | null): string | null {
  if (perLatent === null)
    return value === 1 ? null : `is ${value}, and this model draws images, which have one: leave it out`;
  const problem = wholeProblem(value, 1, LIMITS.frames);
  if (problem !== null || (value - 1) % perLatent === 0) return problem;
  const below = value - ((value - 1) % perLatent);
  return `is ${value}, which is not a multiple of ${perLatent} and one more; the nearest are ${below} and ${below + perLatent}`;
}

/** Describes the problem with a number of frames in a second; null: none. */
export function fpsProblem(value: number | null, isClip: boolean): string | null {
  if (value === null) return null;
  if (!isClip) return `is ${value}, and this model draws images, which have none: leave it out`;
  const fits = value > 0 && value <= LIMITS.frameRate;
  return fits ? null : `is ${value}; it is a number above 0 and at most ${LIMITS.frameRate}`;
}

function wholeProblem(value: number, least: number, most: number): string | null {
  const fits = Number.isInteger(value) && value >= least && value <= most;
  return fits ? null : `is ${value}; it is an integer from ${least} to ${most}`;
}

export const stepsProblem = (value: number): string | null => wholeProblem(value, 1, LIMITS.steps);

export function guidanceProblem(value: number): string | null {
  const fits = value >= 0 && value <= LIMITS.guidance;
  return fits ? null : `is ${value}; it is a number from 0 to ${LIMITS.guidance}`;
}

function refuse(param: string, message: Prose): never {
  throw badRequest(message, param);
}

export function checkValues(
  { values, sources }: Pick<Resolved['event'], 'values' | 'sources'>,
  { seed }: CompleteImageRequest,
  { pipeline: { family }, sizeMultiple, framesPerLatent, mostClipSkip }: ResolveContext,
): void {
  const check = (key: keyof ResolvedImageRequest, problem: string | null): void => {
    if (problem !== null) refuse(key, `${key} ${problem}`);
  };
  for (const key of ['width', 'height'] as const) {
    const problem = sideProblem(values[key], sizeMultiple);
    if (problem !== null && sources[key] === 'image')
      refuse(
        key,
        say`${subject(key)} by the image's proportions ${problem}: give ${field('width')} and ${field('height')}`,
      );
    check(key, problem);
  }
  check('frames', framesProblem(values.frames, framesPerLatent));
  check('fps', fpsProblem(values.fps, framesPerLatent !== null));
  check('steps', stepsProblem(values.steps));
  check('samples', wholeProblem(values.samples, 1, LIMITS.samples));
  if (values.clipSkip !== 0 && mostClipSkip === 0)
    refuse(
      'clipSkip',
      `clipSkip is for models with a CLIP text encoder, and ${family.name} has none: leave it out`,
    );
  check('clipSkip', wholeProblem(values.clipSkip, 0, mostClipSkip));
  check('guidance', guidanceProblem(values.guidance));
  if (!(values.guidanceRescale >= 0 && values.guidanceRescale <= 1))
    refuse('guidanceRescale', `guidanceRescale is ${values.guidanceRescale}; it is a number from 0 to 1`);
  if (!Number.isSafeInteger(seed) || seed < 0)
    refuse('seed', `seed is ${seed}; it is an integer from 0 to ${Number.MAX_SAFE_INTEGER}`);
  if (seed > Number.MAX_SAFE_INTEGER - (values.samples - 1))
    refuse(
      'seed',
      `seed is ${seed}, and the last of ${values.samples} images would have one above ${Number.MAX_SAFE_INTEGER}: choose a smaller seed`,
    );
  if (values.strength !== null && !(values.strength > 0 && values.strength <= 1))
    refuse('strength', `strength is ${values.strength}; it is a number above 0 and at most 1`);
}

/** Checks the image with which a clip ends; families that take one declare it. */
function checkLastImage({ image, lastImage }: CompleteImageRequest, family: ImageFamily): void {
  if (lastImage === undefined) return;
  if (!family.takes.includes('lastImage'))
    refuse('lastImage', `lastImage is not for ${family.name}: leave it out`);
  if (!image) refuse('lastImage', 'lastImage needs the image from which the clip starts: give both');
}

/** Checks that the image and the mask are given if the pipeline class or the denoiser needs them. */
export function checkInputs(
  request: CompleteImageRequest,
  values: ResolvedImageRequest,
  context: ResolveContext,
): void {
  const { image, mask, furtherImages = [] } = request;
  const { strength } = values;
  const {
    pipeline: { className, family, task, set },
    needsMask,
  } = context;
  checkLastImage(request, family);
  checkFrameImages(request, values, context);
  const sees = set.references !== undefined;
  const fills = set.classes.inpainting !== undefined;
  // Under a mask the last image is the one that is filled.
  const most = (set.references?.most ?? 1) + (sees && fills && mask ? 1 : 0);
  if (furtherImages.length > 0 && (!image || furtherImages.length >= most)) {
    const problem = image
      ? `${furtherImages.length + 1} images are given`
      : 'the last of them is not given as image';
    refuse(
      'image',
      `${className} takes ${most === 1 ? 'one image' : `at most ${most} images`}, and ${problem}`,
    );
  }
  if (sees && mask && !fills)
    refuse('mask', `${className} sees the whole image beside what it draws, and takes no mask: leave it out`);
  if (sees && !mask && strength !== null)
    refuse('strength', `${className} sees the image beside what it draws, and has no strength: leave it out`);
  if (mask && !image) refuse('mask', 'a mask needs the image that it is a mask of: give both');
  if (needsMask && !mask)
    refuse(
      'mask',
      say`this model was made to fill masks: give ${field('image')}, and a ${field('mask')} that is white where to draw`,
    );
  if (task !== 'text-to-image' && !image)
    refuse(
      'image',
      say`${className} draws from an image, and none is given: give ${field('image')}, or take the class that draws from text`,
    );
  if (task === 'inpainting' && !mask)
    refuse(
      'mask',
      say`${className} fills a mask, and none is given: give ${field('mask')}, or take another class`,
    );
  if (strength !== null && !image)
    refuse('strength', 'strength is for drawing from an image, and none is given: leave it out, or give one');
}

/** Fields of a request that only some families take. Those that no value is decided for are also checked for their bounds. */
export function checkFields(
  request: CompleteImageRequest,
  { guidanceRescale }: ResolvedImageRequest,
  { pipeline: { family, families }, seesControl }: ResolveContext,
): void {
  const takes = seesControl ? [...family.takes, 'controlImages'] : family.takes;
  // A guidanceRescale of 0, which clients send, changes nothing in any family.
  const given: CompleteImageRequest = { ...request, guidanceRescale: guidanceRescale || undefined };
  for (const field of families.flatMap((one) => one.takes))
    if (given[field] !== undefined && !takes.includes(field))
      refuse(field, `${field} is not for ${family.name}: leave it out`);
  const { maxSequenceLength: length, flowShift: shift } = request;
  if (length !== undefined && !(Number.isInteger(length) && length > 0))
    refuse('maxSequenceLength', `maxSequenceLength is ${length}; it is an integer of at least 1`);
  if (shift !== undefined && !(Number.isFinite(shift) && shift > 0))
    refuse('flowShift', `flowShift is ${shift}; it is a number above 0`);
}

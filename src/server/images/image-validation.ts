// Checks the body of a request for images: returns the honoured fields, or throws an error that names the wrong field.

import { bodyChecker } from '../body/body.ts';
import { RequestError } from '../http/errors.ts';
import { isEmpty, isObject } from '../body/fields.ts';
import { ALL_FIELDS, EDIT_FIELDS, type ImageBody } from './image-schema.ts';

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
  if (name === undefined) return;
  throw new RequestError(
    'unsupported',
    `${name} is for drawing from an image; send it to POST /v1/images/edits, or leave it out`,
    { param: name },
  );
}

function checkTogether(body: ImageBody): void {
  const { seed, n, partial_images: previews = 0 } = body;
  const refuse = (param: string, message: string): never => {
    throw new RequestError('invalid_value', message, { param });
  };
  if (Array.isArray(seed) && n !== undefined && seed.length !== n) {
    refuse(
      'seed',
      `seed has ${seed.length === 1 ? '1 entry' : `${seed.length} entries`}, and n is ${n}; send one for each image`,
    );
  }
  if (previews > 0 && !body.stream) {
    refuse('partial_images', 'partial_images needs stream to be true; send both or neither');
  }
  if (body.stream && body.response_format === 'url') {
    refuse(
      'response_format',
      'response_format is url, and a stream carries the images themselves; send b64_json',
    );
  }
  const loses = {
    output_compression: (body.output_compression ?? 100) !== 100,
    output_quality: isLossy(body),
  };
  for (const [name, lossy] of Object.entries(loses)) {
    if (lossy && (body.output_format ?? 'png') === 'png')
      refuse(name, `${name} is for jpeg and webp, and PNG loses nothing; leave it out`);
  }
  if (body.generic_kwargs && body.diffusers_kwargs) {
    refuse('generic_kwargs', 'generic_kwargs is another name of diffusers_kwargs; send one of them');
  }
  for (const [at, side] of (['width', 'height'] as const).entries()) {
    const fromSize = body.size?.split('x')[at];
    if (body.size === undefined || body.size === 'auto' || body[side] === undefined) continue;
    if (Number(fromSize) !== body[side]) {
      refuse(side, `${side} is ${body[side]}, and size is ${body.size}; send one of them`);
    }
  }
}

/** Returns true for a quality that lossless PNG cannot have. */
const isLossy = ({ output_quality: word }: ImageBody): boolean => word === 'low' || word === 'medium';

function checkSourceImage({ image, url }: ImageBody): void {
  if (image && url !== undefined) {
    throw new RequestError('invalid_value', 'url gives an image, and image another; send one of them', {
      param: 'url',
    });
  }
  if (!image && url === undefined) throw missing('image', 'image is required: the image to start from');
}

function missing(param: string, message: string): RequestError {
  return new RequestError('missing_required_parameter', message, { param });
}

// Checks the body of a request for images: returns the honoured fields, or throws an error that names the wrong field.

import { objectOf } from '../body/body.ts';
import { RequestError } from '../errors.ts';
import { isEmpty, refuseUnknown, sortFields } from '../body/fields.ts';
import { EDIT_FIELDS, IMAGE_FIELDS, imageBody, type ImageBody } from './image-schema.ts';
import { toRequestError } from '../body/request-error.ts';

export type Operation = 'generation' | 'edit';

type KnownBody = ImageBody & Required<Pick<ImageBody, 'prompt'>>;

/** `ignored`: names that nothing here reads; with `strict` they are an error. */
export function validateImage(
  value: unknown,
  operation: Operation,
  strict: boolean,
): { body: KnownBody; ignored: string[] } {
  const sent = objectOf(value);
  if (operation === 'generation') refuseEditFields(sent);
  // An empty value of these fields does not count as left out: an empty prompt is valid, a file has no enumerable members, and an
  // empty list of seeds is an error.
  const mayBeEmpty = ['prompt', 'image', 'mask', 'control_image', 'ip_adapter_image', 'seed'];
  const fields = { ...IMAGE_FIELDS, ...EDIT_FIELDS };
  const { honoured, ignored } = sortFields(sent, fields, mayBeEmpty);
  if (honoured['prompt'] === undefined) throw missing('prompt', 'prompt is required: say what to draw');
  const parsed = imageBody.safeParse(honoured);
  if (!parsed.success) throw toRequestError(parsed.error, honoured);
  const body = parsed.data as KnownBody;
  checkTogether(body);
  if (operation === 'edit') checkSourceImage(body);
  if (strict) refuseUnknown(ignored, fields);
  return { body, ignored };
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

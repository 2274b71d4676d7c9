// Errors of sampling, which the device reports as special ids in place of a token.

import { option, say } from '../../../files/message.ts';
import { badRequest, EngineError, internalError } from '../../../files/error.ts';
import type { Sequence } from './sequence.ts';

/** The error for a row in which every token of the vocabulary was excluded. */
export function noTokenAllowed({ request: { processor } }: Sequence): EngineError {
  const why =
    processor === null
      ? 'what the constraint, the processors and the biases of the request allow excludes all of them'
      : 'the wgsl processor of the request leaves none, or one of its loops does not end';
  const param = processor === null ? {} : { param: 'processors' };
  return new EngineError('bad_request', `no token is left to choose from: ${why}`, param);
}

/** Error for logits with NaN or infinite values. */
export function notANumber({ request: { processor } }: Sequence): EngineError {
  if (processor !== null)
    return badRequest(
      'the wgsl processor of the request returns NaN or infinity: let it return a finite number for every token (at most -3e38 excludes one)',
      'processors',
    );
  return internalError(
    say`the logits are not numbers: the weights or their precision do not fit this adapter; try ${option('quantization')} none`,
  );
}

export function lostTwice(reason: string): EngineError {
  return new EngineError(
    'device_lost',
    `the GPU device was lost twice under this request (${reason}): send a smaller one`,
  );
}

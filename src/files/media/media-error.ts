// Errors of media that are not decoded, in the words that all decoders share.

import { EngineError } from '../error.ts';
import { decoderReason } from '../image/pixels.ts';
import { type Message, option, say, subject } from '../message.ts';
import type { MediaBounds } from './media.ts';

/** A medium beyond a bound: what is too large, its number, the limit and the option that sets it. */
export function beyond(
  name: string,
  what: Message | string,
  bound: keyof MediaBounds,
  most: number,
): EngineError {
  const message = say`${subject(name)} ${what}, above the limit of ${most} (${option(bound)}); give a smaller one, or raise the limit`;
  return new EngineError('bad_request', message, { param: name });
}

/** A whole file that is not read. The message continues the name of the medium: what the file is, and the remedy. */
export class UnreadFormat extends Error {}

/** A medium whose bytes cannot be decoded. */
export function undecodable(name: string, noun: string, cause: unknown): EngineError {
  if (cause instanceof EngineError) return cause;
  if (cause instanceof UnreadFormat)
    return new EngineError('unsupported', `${name} ${cause.message}`, { param: name, cause });
  const reason = decoderReason(cause);
  return new EngineError(
    'bad_request',
    `${name} cannot be read as ${noun} (${reason}); the file is damaged or cut off, so give a whole one`,
    {
      param: name,
      cause,
    },
  );
}

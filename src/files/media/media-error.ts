// Errors of media that are not decoded, in the words that all decoders share.

import { badRequest, EngineError, unsupported } from '../error.ts';
import { decoderReason } from '../image/pixels.ts';
import { type Message, option, say, subject } from '../message.ts';
import type { MediaBounds } from './media.ts';

/** Throws for a medium of which `amount` is beyond a bound; `what` says it. */
export function checkBound<Bound extends keyof MediaBounds>(
  name: string,
  bounds: Readonly<Record<Bound, number>>,
  bound: Bound,
  amount: number,
  what: string,
): void {
  if (amount > bounds[bound]) throw beyond(name, what, bound, bounds[bound]);
}

/** A medium beyond a bound: what is too large, its number, the limit and the option that sets it. */
export function beyond(
  name: string,
  what: Message | string,
  bound: keyof MediaBounds,
  most: number,
): EngineError {
  const message = say`${subject(name)} ${what}, above the limit of ${most} (${option(bound)}); give a smaller one, or raise the limit`;
  return badRequest(message, name);
}

/** A whole file that is not read. The message continues the name of the medium: what the file is, and the remedy. */
export class UnreadFormat extends Error {}

/** A medium whose bytes cannot be decoded. */
export function undecodable(name: string, noun: string, cause: unknown): EngineError {
  if (cause instanceof EngineError) return cause;
  if (cause instanceof UnreadFormat) return unsupported(`${name} ${cause.message}`, name, cause);
  const reason = decoderReason(cause);
  return badRequest(
    `${name} cannot be read as ${noun} (${reason}); the file is damaged or cut off, so give a whole one`,
    name,
    cause,
  );
}

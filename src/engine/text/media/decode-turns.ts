// The time that decoding a medium and preparing it may take, and the turns in which other work runs meanwhile.

import { badRequest, type EngineError } from '../../../files/error.ts';
import type { MediaBounds } from '../../../files/media/media.ts';
import { option, say, subject } from '../../../files/message.ts';
import { DEFAULTS } from '../../../options/limits.ts';
import { cancelled, onAbort } from '../../async/abort-listeners.ts';
import { withResolvers } from '../../async/resolvers.ts';

/**
 * Runs `decode`, whose signal aborts with `abandoned` and after the time that a medium may take. The result rejects then, even if a codec
 * goes on with its piece. `name` is the parameter that holds the medium. Throws bad_request, cancelled, and what `decode` throws.
 */
export async function decodeWithin<T>(
  name: string,
  { mediaDecodeTimeout: most = DEFAULTS.mediaDecodeTimeout }: Pick<MediaBounds, 'mediaDecodeTimeout'>,
  abandoned: AbortSignal,
  decode: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const { promise: ended, reject } = withResolvers<never>();
  const end = (reason: EngineError): void => {
    abort.abort(reason);
    reject(reason);
  };
  const timer = setTimeout(() => end(late(name, most)), most);
  const stopListening = onAbort(abandoned, () => end(cancelled()));
  try {
    return await Promise.race([decode(abort.signal), ended]);
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}

function late(name: string, most: number): EngineError {
  const message = say`${subject(name)} was not decoded within ${most / 1000} seconds (${option('mediaDecodeTimeout')}); give a smaller one, or raise the limit`;
  return badRequest(message, name);
}

/** Milliseconds after which other work runs. */
const TURN = 5;

/**
 * Does work piece by piece, so that steps of other requests are recorded in between, and a request that leaves ends it. `onPiece` is called with what
 * the work yields. Throws what it throws, and the signal's reason.
 */
export async function workInTurns<Piece, T>(
  work: Generator<Piece, T, void>,
  signal: AbortSignal,
  onPiece: (piece: Piece) => void = () => {},
): Promise<T> {
  let began = performance.now();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    onPiece(value);
    if (performance.now() - began < TURN) continue;
    await new Promise((resolve) => setTimeout(resolve));
    signal.throwIfAborted();
    began = performance.now();
  }
}

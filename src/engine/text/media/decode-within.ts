// Ends the decoding of a medium when its requests have left, and when it takes too long.

import { EngineError } from '../../../files/error.ts';
import { option, say, subject } from '../../../files/message.ts';
import type { MediaBounds } from '../../../files/media/media.ts';
import { DEFAULTS } from '../../../options/limits.ts';
import { onAbort } from '../../async/abort-listeners.ts';
import { withResolvers } from '../../async/resolvers.ts';

export function cancelled(): EngineError {
  return new EngineError('cancelled', 'the request was cancelled before it began');
}

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
  return new EngineError('bad_request', message, { param: name });
}

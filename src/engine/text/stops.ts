// Stop strings in a stream of text. Only the longest tail that could still become a stop is held back.

export interface StopMatch {
  /** Text that is safe to send. */
  text: string;
  /** The stop string that ended it, which is not part of the text. */
  matched: string | null;
}

export interface StopMatcher {
  push(text: string): StopMatch;
  /** What is held, when nothing follows any more. */
  flush(): string;
}

export function createStopMatcher(stops: readonly string[]): StopMatcher {
  let held = '';
  return {
    push(text) {
      held += text;
      const match = firstComplete(held, stops);
      if (match) {
        const before = held.slice(0, match.at);
        held = '';
        return { text: before, matched: match.stop };
      }
      const keep = longestPrefixTail(held, stops);
      const sent = held.slice(0, held.length - keep);
      held = held.slice(held.length - keep);
      return { text: sent, matched: null };
    },
    flush() {
      const rest = held;
      held = '';
      return rest;
    },
  };
}

/**
 * The stop whose last character comes first; of several that end there, the longest. So the match does not depend on how
 * the text was cut into tokens.
 */
function firstComplete(text: string, stops: readonly string[]): { at: number; stop: string } | null {
  let best: { at: number; stop: string; end: number } | null = null;
  for (const stop of stops) {
    const at = text.indexOf(stop);
    const end = at + stop.length;
    if (at >= 0 && (best === null || end < best.end || (end === best.end && at < best.at)))
      best = { at, stop, end };
  }
  return best;
}

/** Length of the longest tail of `text` that begins one of the stops. */
function longestPrefixTail(text: string, stops: readonly string[]): number {
  let longest = 0;
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(stop.slice(0, length))) longest = length;
    }
  }
  return longest;
}

// Divides what was written about a window by its times, and tells how far the next window begins behind it. source: openai-whisper's and transformers'
// sequential algorithm for sounds longer than a window

export interface TimedTokens {
  tokens: number[];
  /** Steps of time from the beginning of the window. */
  start: number;
  end: number;
}

/**
 * `steps`: steps of time that the window has sound for. Pairs of times end segments. What follows the last pair is written again, with what follows it
 * in the sound; a single time at the end says that there is no speech behind it. `next`: steps from this window to the next; null: it
 * begins behind this one.
 */
export function divideTokens(
  tokens: readonly number[],
  firstTime: number,
  steps: number,
): { segments: TimedTokens[]; next: number | null } {
  const isTime = tokens.map((id) => id >= firstTime);
  const endsOnce = isTime.at(-1) === true && isTime.at(-2) === false;
  const cuts = isTime.flatMap((is, i) => (is && isTime[i + 1] ? [i + 1] : []));
  const timeAt = (i: number): number => tokens[i]! - firstTime;
  if (cuts.length === 0) {
    const last = tokens.findLast((id) => id > firstTime);
    const end = last === undefined ? steps : last - firstTime;
    return { segments: [{ tokens: [...tokens], start: 0, end }], next: null };
  }
  if (endsOnce) cuts.push(tokens.length);
  const segments = cuts.map((cut, i): TimedTokens => {
    const from = cuts[i - 1] ?? 0;
    return { tokens: tokens.slice(from, cut), start: timeAt(from), end: timeAt(cut - 1) };
  });
  return { segments, next: endsOnce ? null : timeAt(cuts.at(-1)! - 1) };
}

// The words of a window's segments with their times.

import type { TranscriptionWord } from './transcription-model.ts';
import type { WindowTokens, WrittenWindow } from './window.ts';
import type { WordTokens } from './words.ts';

export interface WordRules {
  /** The step of time at which each token ends whose looks at the steps are given. */
  timesOf(looks: readonly Float32Array[]): Promise<number[]>;
  divide(tokens: readonly number[], language: string): WordTokens[];
}

/** Looks of a window's tokens at the steps of time with sound, without a last one that nothing follows. */
export async function looksOf(
  { align }: WindowTokens,
  prompt: readonly number[],
  { tokens, isEnded }: WrittenWindow,
  steps: number,
): Promise<Float32Array[]> {
  const aligned = isEnded ? tokens : tokens.slice(0, -1);
  return aligned.length === 0 ? [] : align([...prompt, ...aligned], prompt.length, steps);
}

/** Where each of a window's tokens ends. A last one without looks ends with the one before it. */
export async function endsOf(
  { timesOf }: WordRules,
  looks: readonly Float32Array[],
  { tokens }: WrittenWindow,
): Promise<number[]> {
  const ends = looks.length === 0 ? [] : await timesOf(looks);
  return tokens.map((_, i) => ends[Math.min(i, ends.length - 1)] ?? 0);
}

/** `first`: the place of the segment's first token in its window; `text`: ids below are those of texts. */
export function wordsOf(
  segment: { tokens: readonly number[]; first: number },
  ends: readonly number[],
  {
    divide,
    language,
    text,
    secondsOf,
  }: Pick<WordRules, 'divide'> & {
    language: string;
    text: number;
    secondsOf(step: number): number;
  },
): TranscriptionWord[] {
  const { tokens, first } = segment;
  const places = tokens.flatMap((id, i) => (id < text ? [first + i] : []));
  let at = 0;
  const words = divide(
    places.map((place) => tokens[place - first]!),
    language,
  );
  return words.map(({ text: word, tokens: own }) => {
    const begins = places[at]!;
    at += own.length;
    // A word begins where the token before it ends.
    const start = begins === 0 ? 0 : ends[begins - 1]!;
    return { text: word, start: secondsOf(start), end: secondsOf(ends[places[at - 1]!]!) };
  });
}

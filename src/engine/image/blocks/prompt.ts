// Prompts of CLIP models: emphasis as in A1111's web UI, and more than one window of 75 tokens.
//   (word)  ×1.1   ((word))  ×1.21   (word:1.4)  ×1.4   [word]  ÷1.1   \( \) \[ \]  the characters themselves   BREAK  begins a new window
// An emphasis multiplies its tokens' embeddings; a prompt without any is what every CLIP pipeline makes of it.

import { badRequest, type EngineError } from '../../../files/error.ts';
import type { ComponentAccess } from '../components/components.ts';

/** A piece of text and the factor on its embeddings. */
export interface Emphasis {
  text: string;
  weight: number;
}

/** Input of the text encoder: `ids` and `weights` have the length of its window. */
export interface PromptWindow {
  ids: number[];
  weights: number[];
}

/** The tokenizer's data from which windows are made. */
export interface ClipTokens {
  /** Ids of a text without special tokens. */
  encode(text: string): number[];
  bos: number;
  eos: number;
  pad: number;
  /** Number of the encoder's positions, 77. */
  length: number;
}

/** Returns what a CLIP tokenizer says of its special tokens. `length`: the encoder's positions. */
export async function clipTokens(
  components: ComponentAccess,
  name: string,
  length: number,
): Promise<ClipTokens> {
  const tokenizer = await components.tokenizer(name);
  const idOf = (special: unknown, fallback: number): number =>
    (typeof special === 'string' ? tokenizer.tokenToId(special) : null) ?? fallback;
  const { bos_token, eos_token, pad_token } = tokenizer.specials;
  const last = tokenizer.vocabSize - 1;
  const eos = idOf(eos_token, last);
  return {
    encode: (text) => tokenizer.encode(text, { addSpecialTokens: false }),
    bos: idOf(bos_token, last - 1),
    eos,
    pad: idOf(pad_token, eos),
    length,
  };
}

const STEP = 1.1;
/** Limit on nested brackets; each level multiplies the weight of its contents. */
const MOST_NESTED = 128;
/** Largest weight of an emphasis, so that weighted embeddings stay finite. */
const MOST_WEIGHT = 1e4;
const TOKEN =
  /\\[\\()[\]]|[()[\]]|:\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*\)|(?<!\w)BREAK(?!\w)|[^\\()[\]:B]+|[^]/g;

/** Splits a prompt at BREAK into sections of weighted pieces. Throws bad_request for excessive nesting and weights. */
export function parseEmphasis(prompt: string): Emphasis[][] {
  const sections: Emphasis[][] = [[]];
  const round: number[] = [];
  const square: number[] = [];
  const pieces = (): Emphasis[] => sections.at(-1)!;
  const scale = (first: number | undefined, by: number): void => {
    for (const piece of pieces().slice(first)) piece.weight *= by;
  };
  for (const [token, weight] of prompt.matchAll(TOKEN)) {
    if (round.length + square.length > MOST_NESTED)
      throw tooLong(
        `has more than ${MOST_NESTED} open brackets inside each other: write \\( for the character`,
      );
    if (token === '(') round.push(pieces().length);
    else if (token === '[') square.push(pieces().length);
    else if (weight !== undefined && round.length > 0) scale(round.pop(), Number(weight));
    else if (token === ')' && round.length > 0) scale(round.pop(), STEP);
    else if (token === ']' && square.length > 0) scale(square.pop(), 1 / STEP);
    else if (token === 'BREAK' && round.length + square.length === 0) sections.push([]);
    else pieces().push({ text: /^\\[\\()[\]]$/.test(token) ? token.slice(1) : token, weight: 1 });
  }
  // An unclosed bracket extends to the end.
  for (const first of round) scale(first, STEP);
  for (const first of square) scale(first, 1 / STEP);
  const heavy = sections.flat().find(({ weight }) => !(Math.abs(weight) <= MOST_WEIGHT));
  if (heavy)
    throw tooLong(
      `emphasizes a piece by ${heavy.weight}: ${MOST_WEIGHT} at most, in all its brackets together`,
    );
  return sections.map(merge);
}

/** Joins neighbouring pieces of equal weight, so that they are tokenized together. */
function merge(pieces: Emphasis[]): Emphasis[] {
  const merged: Emphasis[] = [];
  for (const piece of pieces) {
    const last = merged.at(-1);
    if (last?.weight === piece.weight) last.text += piece.text;
    else merged.push({ ...piece });
  }
  return merged;
}

/** Limit on the windows of a prompt. Each one costs time in every step of the denoiser. */
const MOST_WINDOWS = 64;
const MOST_CHARACTERS = 100_000;

/**
 * Returns at least one window: BOS, at most `length` - 2 tokens, EOS, padding. Each section between BREAKs begins a new window.
 * Throws bad_request if there are more than MOST_WINDOWS.
 */
export function promptWindows(prompt: string, tokens: ClipTokens): PromptWindow[] {
  if (prompt.length > MOST_CHARACTERS)
    throw tooLong(`has ${prompt.length} characters: ${MOST_CHARACTERS} at most`);
  const windows: PromptWindow[] = [];
  for (const section of parseEmphasis(prompt)) {
    const items = section.flatMap(({ text, weight }) => tokens.encode(text).map((id) => ({ id, weight })));
    const room = tokens.length - 2;
    for (let at = 0; at === 0 || at < items.length; at += room)
      windows.push(window(items.slice(at, at + room), tokens));
    if (windows.length > MOST_WINDOWS)
      throw tooLong(`takes more than ${MOST_WINDOWS} windows of ${room} tokens: make it shorter`);
  }
  return windows;
}

function tooLong(what: string): EngineError {
  return badRequest(`a prompt ${what}`, 'prompt');
}

function window(items: readonly { id: number; weight: number }[], tokens: ClipTokens): PromptWindow {
  const weights = [1, ...items.map(({ weight }) => weight)];
  return {
    ids: paddedIds(
      items.map(({ id }) => id),
      tokens,
    ),
    weights: [...weights, ...Array.from({ length: tokens.length - weights.length }, () => 1)],
  };
}

/** The ids of one window: a text's first tokens between those of its beginning and its end, and padding behind them. */
export function paddedIds(words: readonly number[], { bos, eos, pad, length }: ClipTokens): number[] {
  const read = words.slice(0, length - 2);
  return [bos, ...read, eos, ...Array.from({ length: length - 2 - read.length }, () => pad)];
}

/** Extends the windows to `count` by windows of the empty prompt. */
export function padWindows(
  windows: readonly PromptWindow[],
  count: number,
  tokens: ClipTokens,
): PromptWindow[] {
  const more = Math.max(0, count - windows.length);
  return [...windows, ...Array.from({ length: more }, () => window([], tokens))];
}

/** The words of a prompt without the syntax of emphasis. */
export function plainText(prompt: string): string {
  const sections = parseEmphasis(prompt).map((section) => section.map(({ text }) => text).join(''));
  return sections.join(' ');
}

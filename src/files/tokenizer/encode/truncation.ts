// Cuts texts to the tokens that a model takes, at their ends. Of a pair the longer text is cut first, as by the tokenizers library
// (longest_first).

import { plainPair, type PostProcessor, type TypedIds } from './post-processor.ts';

/** A text's tokens and what stands around them, `most` together. */
export function finishText(ids: number[], finish: PostProcessor | null, most: number): number[] {
  if (finish === null) return ids.slice(0, most);
  const own = Math.max(0, most - finish.single([]).length);
  return finish.single(ids.length > own ? ids.slice(0, own) : ids);
}

/** A pair's tokens and what stands around them, `most` together. */
export function finishPair(
  first: number[],
  second: number[],
  finish: PostProcessor | null,
  most: number,
): TypedIds {
  const join = finish?.pair ?? plainPair;
  const own = Math.max(0, most - join([], []).ids.length);
  const [ofFirst, ofSecond] = sharesOf(first.length, second.length, own);
  return join(first.slice(0, ofFirst), second.slice(0, ofSecond));
}

/** How many tokens of each text are kept of `most` in all. */
function sharesOf(first: number, second: number, most: number): [number, number] {
  if (first + second <= most) return [first, second];
  const shorter = Math.min(first, second);
  // The shorter text is kept whole unless that would make it the longer one.
  const isKept = shorter <= most && Math.max(shorter, most - shorter) + shorter <= most;
  const [less, more] = isKept
    ? [shorter, most - shorter]
    : [Math.floor(most / 2), most - Math.floor(most / 2)];
  return first > second ? [more, less] : [less, more];
}

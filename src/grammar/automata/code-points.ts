// Sets of characters. A character is a Unicode scalar value; a lone surrogate is not one, since UTF-8 cannot encode it.

/** First and last character of each range in turn, ascending; no two ranges touch. */
export type CodePoints = readonly number[];

const LAST_CODE_POINT = 0x10ffff;

export const EVERY_CHARACTER: CodePoints = [0, 0xd7ff, 0xe000, LAST_CODE_POINT];

/** The set of the characters in the ranges, which may be in any order; surrogates are left out. */
export function codePoints(...ranges: (readonly [first: number, last: number])[]): CodePoints {
  return intersection(merge(ranges), EVERY_CHARACTER);
}

export function union(...sets: CodePoints[]): CodePoints {
  return merge(sets.flatMap(pairs));
}

export function complement(set: CodePoints): CodePoints {
  const gaps: (readonly [number, number])[] = [];
  let from = 0;
  for (const [first, last] of pairs(set)) {
    if (first > from) gaps.push([from, first - 1]);
    from = last + 1;
  }
  if (from <= LAST_CODE_POINT) gaps.push([from, LAST_CODE_POINT]);
  return intersection(merge(gaps), EVERY_CHARACTER);
}

export function intersection(a: CodePoints, b: CodePoints): CodePoints {
  const both: number[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const first = Math.max(a[i]!, b[j]!);
    const last = Math.min(a[i + 1]!, b[j + 1]!);
    if (first <= last) both.push(first, last);
    if (a[i + 1]! < b[j + 1]!) i += 2;
    else j += 2;
  }
  return both;
}

export function pairs(set: CodePoints): (readonly [first: number, last: number])[] {
  return Array.from({ length: set.length / 2 }, (_, i) => [set[2 * i]!, set[2 * i + 1]!] as const);
}

function merge(ranges: readonly (readonly [first: number, last: number])[]): CodePoints {
  const merged: number[] = [];
  for (const [first, last] of ranges.toSorted((a, b) => a[0] - b[0])) {
    if (first > last) continue;
    const end = merged.at(-1);
    if (end !== undefined && first <= end + 1) merged[merged.length - 1] = Math.max(end, last);
    else merged.push(first, last);
  }
  return merged;
}

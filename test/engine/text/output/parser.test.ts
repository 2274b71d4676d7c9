// Replies in every format, with every division of their text into tokens.

import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { formatOf, piecesOf, told, TOOLS, type FeedOptions } from './feed.ts';
import type { Reply } from './marked-replies.ts';
import { REPLIES } from './replies.ts';

/** Texts of special tokens, and single characters. */
function atoms({ text, specials = [] }: Reply): string[] {
  const result: string[] = [];
  for (let at = 0; at < text.length;) {
    const special = specials.find((each) => text.startsWith(each, at));
    const next = special ?? String.fromCodePoint(text.codePointAt(at)!);
    result.push(next);
    at += next.length;
  }
  return result;
}

/** Joins the atoms, except special tokens and where `cut` returns true. */
function join(parts: readonly string[], specials: readonly string[], cut: (at: number) => boolean): string[] {
  const pieces: string[] = [];
  parts.forEach((part, at) => {
    const alone = specials.includes(part) || specials.includes(parts[at - 1] ?? '');
    if (at === 0 || alone || cut(at)) pieces.push(part);
    else pieces.push(pieces.pop()! + part);
  });
  return pieces;
}

/** Ways to cut four characters at two places or more, a bit for each: cuts at one place are tried everywhere. */
const CUT_TWICE = Array.from({ length: 1 << 4 }, (_, ways) => ways).filter(
  (ways) => (ways & (ways - 1)) !== 0,
);

function random(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

describe.each(REPLIES)('a reply in $name', (reply) => {
  const { tools, reasoning = null, begins = 'undecided', specials = [] } = reply;
  const format = formatOf(tools, reasoning);
  const specialId = (text: string) => (specials.includes(text) ? 1000 + specials.indexOf(text) : undefined);
  const options: FeedOptions = { begins, specialId, tools: tools === null ? null : TOOLS };
  const parts = atoms(reply);
  const parse = (pieces: string[]) => told(piecesOf(pieces, specials), format, options);

  test('makes no call of an undeclared tool', () => {
    const other = { type: 'function', function: { name: 'other' } } as const;
    const made = told(piecesOf(parts, specials), format, {
      ...options,
      tools: tools === null ? null : [other],
    });
    expect(made.filter((part) => 'name' in part)).toEqual([]);
  });

  /** Of thousands of ways only one that differs is compared by `expect`, which costs as much as parsing. */
  const expectTold = (cut: (at: number) => boolean, way: string): void => {
    const made = parse(join(parts, specials, cut));
    if (!isDeepStrictEqual(made, reply.told)) expect(made, way).toEqual(reply.told);
  };

  test('is parsed whole, and character by character', () => {
    expect(parse(join(parts, specials, () => false))).toEqual(reply.told);
    expect(parse(parts)).toEqual(reply.told);
  });

  test('is parsed cut once, anywhere', () => {
    for (let place = 1; place < parts.length; place++) expectTold((at) => at === place, `cut at ${place}`);
  });

  test('is parsed cut evenly, from anywhere', () => {
    for (let width = 2; width <= 12; width++)
      for (let from = 0; from < width; from++)
        expectTold((at) => at % width === from, `every ${width} from ${from}`);
  });

  test('is parsed in every way there is, four characters at a time', () => {
    for (let from = 0; from < parts.length; from += 4)
      for (const ways of CUT_TWICE) {
        const cut = (at: number): boolean => at >= from && at < from + 4 && ((ways >> (at - from)) & 1) === 1;
        expectTold(cut, `ways ${ways} from ${from}`);
      }
  });

  test('is parsed cut at random', () => {
    const next = random(7);
    for (let round = 0; round < 30; round++) {
      const rate = next();
      expectTold(() => next() < rate, `round ${round}`);
    }
  });
});

test('markers that are special tokens are not read from text', () => {
  const specials = ['<|tool_call_start|>', '<|tool_call_end|>'];
  const specialId = (text: string) => (specials.includes(text) ? 1000 + specials.indexOf(text) : undefined);
  const text = '<|tool_call_start|>[ping()]<|tool_call_end|>';
  expect(told(piecesOf(text.split('')), formatOf('lfm2', null), { specialId })).toEqual([{ content: text }]);
});

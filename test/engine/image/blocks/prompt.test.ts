import { describe, expect, it } from 'vitest';
import {
  parseEmphasis,
  padWindows,
  promptWindows,
  type ClipTokens,
} from '../../../../src/engine/image/blocks/prompt.ts';

/** A tokenizer with one token per letter. */
const letters: ClipTokens = {
  encode: (text) => Array.from(text.replaceAll(' ', ''), (letter) => letter.charCodeAt(0)),
  bos: 1,
  eos: 2,
  pad: 3,
  length: 8,
};

const flat = (prompt: string) =>
  parseEmphasis(prompt).map((section) =>
    section.map(({ text, weight }) => [text, Number(weight.toFixed(4))]),
  );

describe('emphasis in a prompt', () => {
  it.each<[string, [string, number][][]]>([
    ['a cat', [[['a cat', 1]]]],
    [
      'a (cat)',
      [
        [
          ['a ', 1],
          ['cat', 1.1],
        ],
      ],
    ],
    [
      'a ((cat))',
      [
        [
          ['a ', 1],
          ['cat', 1.21],
        ],
      ],
    ],
    [
      'a (cat:1.5) here',
      [
        [
          ['a ', 1],
          ['cat', 1.5],
          [' here', 1],
        ],
      ],
    ],
    [
      'a (big (red:2) cat:0.5)',
      [
        [
          ['a ', 1],
          ['big ', 0.5],
          ['red', 1],
          [' cat', 0.5],
        ],
      ],
    ],
    [
      '[dull] sky',
      [
        [
          ['dull', 0.9091],
          [' sky', 1],
        ],
      ],
    ],
    ['a \\(cat\\)', [[['a (cat)', 1]]]],
    [
      'time 12:30 (now)',
      [
        [
          ['time 12:30 ', 1],
          ['now', 1.1],
        ],
      ],
    ],
    [
      'open (cat',
      [
        [
          ['open ', 1],
          ['cat', 1.1],
        ],
      ],
    ],
    ['closed) cat]', [[['closed) cat]', 1]]]],
    ['smile :) ratio 4:3)', [[['smile :) ratio 4:3)', 1]]]],
    ['Big BREAK Breakfast', [[['Big ', 1]], [[' Breakfast', 1]]]],
    ['an OUTBREAK', [[['an OUTBREAK', 1]]]],
    ['(a:-.5)', [[['a', -0.5]]]],
    ['', [[]]],
  ])('%s', (prompt, wanted) => {
    expect(flat(prompt)).toEqual(wanted);
  });
});

describe('prompts with many brackets', () => {
  it.each([
    ['('.repeat(50_000), /more than 128 open brackets/],
    ['(a'.repeat(30_000), /more than 128 open brackets/],
    [`${'[a'.repeat(30_000)}${']'.repeat(30_000)}`, /more than 128 open brackets/],
    [
      '(a:99999999999999999999999999999999999999999999)',
      /a prompt emphasizes a piece by 1e\+44: 10000 at most/,
    ],
    [`${'('.repeat(100)}a`, /emphasizes a piece by \d+\.\d+: 10000 at most/],
  ])('are refused in little time: %#', (prompt, message) => {
    const startedAt = performance.now();
    expect(() => {
      parseEmphasis(prompt);
      throw new Error(`a prompt was taken`);
    }).toThrow(message);
    expect(performance.now() - startedAt).toBeLessThan(2000);
  });

  it.each([`(a:${'1'.repeat(90_000)}`, `(a:${' '.repeat(90_000)}`, '(a)'.repeat(30_000), 'a'.repeat(1e6)])(
    'are read in little time up to any length: %#',
    (prompt) => {
      const startedAt = performance.now();
      expect(parseEmphasis(prompt).length).toBe(1);
      expect(performance.now() - startedAt).toBeLessThan(2000);
    },
  );

  it('are refused where many follow one after the other', () => {
    expect(parseEmphasis('(a) '.repeat(10_000))[0]).toHaveLength(20_000);
  });
});

describe('windows of a prompt', () => {
  it('are one for a short prompt', () => {
    expect(promptWindows('a (b:2)', letters)).toEqual([
      { ids: [1, 97, 98, 2, 3, 3, 3, 3], weights: [1, 1, 2, 1, 1, 1, 1, 1] },
    ]);
  });

  it('are one for an empty prompt', () => {
    expect(promptWindows('', letters)).toEqual([
      { ids: [1, 2, 3, 3, 3, 3, 3, 3], weights: [1, 1, 1, 1, 1, 1, 1, 1] },
    ]);
  });

  it('are several for a long prompt', () => {
    const windows = promptWindows('abcdefgh', letters);
    expect(windows.map(({ ids }) => ids)).toEqual([
      [1, 97, 98, 99, 100, 101, 102, 2],
      [1, 103, 104, 2, 3, 3, 3, 3],
    ]);
  });

  it('are so many and no more', () => {
    expect(promptWindows('a'.repeat(64 * 6), letters)).toHaveLength(64);
    expect(() => promptWindows('a'.repeat(64 * 6 + 1), letters)).toThrow(
      /takes more than 64 windows of 6 tokens/,
    );
    expect(() => promptWindows('a BREAK '.repeat(70), letters)).toThrow(/more than 64 windows/);
    expect(() => promptWindows('(a)'.repeat(40_000), letters)).toThrow(
      /has 120000 characters: 100000 at most/,
    );
  });

  it('begin anew at BREAK, and empty ones are added to a shorter prompt', () => {
    const long = promptWindows('ab BREAK c', letters);
    expect(long.map(({ ids }) => ids[1])).toEqual([97, 99]);
    const short = promptWindows('x', letters);
    expect(padWindows(short, long.length, letters).map(({ ids }) => ids.slice(0, 3))).toEqual([
      [1, 120, 2],
      [1, 2, 3],
    ]);
  });
});

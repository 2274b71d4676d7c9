import { expect, it } from 'vitest';
import { refuseSlow } from '../../../src/files/tokenizer/encode/slow-pattern.ts';
import { openTokenizer } from '../../../src/files/tokenizer/tokenizer.ts';
import { byteLevel } from './small-tokenizers.ts';

it.each([
  // GPT-2, cl100k, o200k's shape, DeepSeek's kind, numbers grouped from the right
  String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
  String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{M}]*[\p{Ll}\p{M}]+(?i:'s|'t|'re)?|\s*[\r\n/]+`,
  String.raw`\s?[A-Za-zµÀ-Ö]+|\s?[!-/:-~]+|[一-龥]+`,
  String.raw`\p{N}{1,3}(?=(?:\p{N}{3})*(?:\P{N}|$))`,
  String.raw` ?[^(\s|[.,!?…。，、।۔،])]+`,
  String.raw`(?<!\d)(?:\d{4})+[(*+]\(a+\)+`,
])('the pattern %s runs', (expression) => {
  expect(() => refuseSlow(expression)).not.toThrow();
});

it.each([
  ['(a+)+$', /exponential/],
  ['(a|a|aa)*b', /exponential/],
  [String.raw`(?:(?:\p{L}+)*)*[^\p{L}\s]x`, /exponential/],
  ['((a?){2}){1,99}', /exponential/],
  ['(?=(?:x*y)+)', /exponential/],
  ['(?:a{1000}){1000}', /more than 10000 times/],
  ['(?:a|b)'.repeat(14_000), /98000 characters/],
  [`${'('.repeat(200)}a${')'.repeat(200)}`, /nests more than 100/],
])('the slow pattern %s is refused', (expression, reason) => {
  expect(() => refuseSlow(expression)).toThrow(reason);
});

it.each([
  ['pre_tokenizer', { type: 'Split', pattern: { Regex: '(a+)+$' }, behavior: 'Isolated' }, /"\(a\+\)\+\$"/],
  ['normalizer', { type: 'Replace', pattern: { Regex: '(a+)+$' }, content: 'x' }, /exponential/],
  ['normalizer', { type: 'Prepend', prepend: 'x'.repeat(1_000_000) }, /its normalizer makes more than/],
  [
    'normalizer',
    {
      type: 'Sequence',
      normalizers: Array.from({ length: 60 }, () => ({
        type: 'Replace',
        pattern: { String: 'e' },
        content: 'ee',
      })),
    },
    /its normalizer makes more than/,
  ],
])('a tokenizer with such a %s is refused', (part, value, reason) => {
  const { tokenizerJson, tokenizerConfig } = byteLevel();
  const encode = (): number[] =>
    openTokenizer({ tokenizerJson: { ...tokenizerJson, [part]: value }, tokenizerConfig }).encode('hello');
  expect(encode).toThrow(
    expect.objectContaining({
      code: 'bad_checkpoint',
      message: expect.stringMatching(reason) as string,
    }) as Error,
  );
});

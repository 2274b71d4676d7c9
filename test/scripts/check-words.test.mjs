// Each rule of the check of words, once kept and once broken.

import { describe, expect, it } from 'vitest';
import { checkTitles, checkWords } from '../../scripts/check-words.mjs';

const words = (file, text) => checkWords({ [file]: text });
const titles = (text) => checkTitles({ 'a.test.ts': text });

describe('words of the source', () => {
  it.each([
    ['an adapter where only a LoRA can be meant', 'files/lora/a.ts', '// the adapter', '// an IP-Adapter'],
    ['a picture', 'gpu/a.ts', '// a picture', '// an image'],
    ['"is no" before a noun', 'gpu/a.ts', '// it is no token of this model', '// there is no token of it'],
    ['told by', 'gpu/a.ts', 'const toldBy = 1;', 'const defaultsFrom = 1;'],
    ['lobby', 'gpu/a.ts', '// the lobby', '// the wait queue'],
    ['doze', 'gpu/a.ts', '// dozing', '// sleeping'],
    ['forgo', 'gpu/a.ts', '// forgoes', '// skips'],
    ['besides', 'gpu/a.ts', '// besides', '// beside'],
    ['sayings', 'gpu/a.ts', '// sayings', '// literals'],
    ['whoever', 'gpu/a.ts', '// whoever calls', '// the caller'],
  ])('refuse %s', (_, file, broken, kept) => {
    expect(words(file, broken)).toHaveLength(1);
    expect(words(file, kept)).toEqual([]);
  });

  it('are refused with file, line and remedy', () => {
    expect(words('gpu/a.ts', '// head\n// a picture')).toEqual(["src/gpu/a.ts:2 'picture': say image"]);
  });

  it('are free in the files of which the rule is not', () => {
    expect(words('gpu/a.ts', '// the adapter')).toEqual([]);
    expect(words('files/template/a.ts', '// a picture')).toEqual([]);
  });
});

describe('names of exported types', () => {
  it('say a part, plan or result of what they are', () => {
    expect(words('gpu/a.ts', 'export class StepPlan {}')).toEqual([]);
    expect(words('gpu/a.ts', '\nexport interface Plan {}')).toEqual([
      'src/gpu/a.ts:2 exports Plan: a part, plan or result of what?',
    ]);
  });

  it('stand for one thing in a room', () => {
    const text = 'export type StepPlan = string;';
    expect(checkWords({ 'gpu/a.ts': text, 'engine/b.ts': text })).toEqual([]);
    expect(checkWords({ 'gpu/a.ts': text, 'gpu/b.ts': text })).toEqual([
      'src/gpu/b.ts:1 exports StepPlan, as src/gpu/a.ts does: one name, one thing in a room',
    ]);
  });
});

describe('titles of tests', () => {
  const refusal = (title, remedy) => [`test/a.test.ts:1 '${title}': ${remedy}`];
  const FIRST = 'begin with what is tested';
  const ANY = 'name what is meant';

  it.each(['refuses a stage', 'is refused', 'what ends', 'without subgroups', 'its end', 'names a field'])(
    'begin with a subject on the first level, unlike "%s"',
    (title) => {
      expect(titles(`it('${title}', () => {});`)).toEqual(refusal(title, FIRST));
      expect(titles(`describe('${title}', () => {});`)).toEqual(refusal(title, FIRST));
      expect(titles(`describe('a stage', () => { it('names of %s', () => {}); });`)).toEqual([]);
    },
  );

  it.each(['the Arena frees', 'names of a field', '/v1/models', 'iteration', '%s is refused', 'two ends'])(
    'may begin with "%s"',
    (title) => expect(titles(`it('${title}', () => {});`)).toEqual([]),
  );

  it('may continue the subject of their describe, but not begin with a pronoun or "what"', () => {
    const within = (title) => titles(`describe('a stage', () => { it('${title}', () => {}); });`);
    expect(within('is refused')).toEqual([]);
    expect(within('of a small run')).toEqual([]);
    for (const title of ['it is refused', 'what it keeps', 'whoever asks', 'they end', 'its end'])
      expect(within(title)).toEqual(refusal(title, ANY));
  });

  it.each([
    "it.each([1])('ends', () => {});",
    "it.skipIf(true)('ends', () => {});",
    "pages.test('ends', () => {});",
    "pages.test.each(names)('ends', async () => {});",
    "for (const name of names) test('ends', { timeout: 1 }, () => {});",
  ])('are found in %s', (text) => expect(titles(text)).toEqual(refusal('ends', FIRST)));

  it('are found in templates', () => {
    expect(titles('it(`ends ${name}`, () => {});')).toEqual(refusal('ends ', FIRST));
  });

  it('are told apart from matches of a regular expression', () => {
    expect(titles("it('a pattern', () => { expect(/a/.test('what')).toBe(false); });")).toEqual([]);
  });

  it('are refused with the line on which they stand', () => {
    expect(titles("it.each([\n  1,\n])('ends', () => {});")).toEqual([`test/a.test.ts:3 'ends': ${FIRST}`]);
  });
});

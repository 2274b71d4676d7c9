// The grammars of a model: compiled once, away from the thread that serves, within bounds of size and time.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { compileProgram, createGrammars } from '../../../../src/engine/text/grammar/grammars.ts';
import { smallVocabulary } from './small-vocabulary.ts';

const available = new Uint8Array(256).fill(1);
const WIDE = { type: 'regex' as const, pattern: '[ab]{300}' };

afterEach(() => void vi.restoreAllMocks());

describe('what a grammar may take', () => {
  it('is bounded in time', () => {
    expect(compileProgram(WIDE, available)).toBeTypeOf('object');
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 10_000));
    const other = { ...WIDE, pattern: '[cd]{300}' };
    expect(() => compileProgram(other, available)).toThrow(
      expect.objectContaining({
        code: 'timed_out',
        message: expect.stringContaining('needs more time, more than a grammar may have'),
      }),
    );
  });

  it('is bounded in size', () => {
    expect(() => compileProgram({ type: 'regex', pattern: '(?:a{1000}){5000}' }, available)).toThrow(
      expect.objectContaining({ code: 'bad_request', message: expect.stringContaining('of over') }),
    );
  });
});

it('what took too long is counted apart, and is a bad request', async () => {
  const grammars = createGrammars(smallVocabulary([]), async (constraint, bytes) => {
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 10_000));
    try {
      return compileProgram(constraint, bytes);
    } finally {
      clock.mockRestore();
    }
  });
  await expect(grammars.get({ ...WIDE, pattern: '[ef]{300}' })).rejects.toMatchObject({
    code: 'bad_request',
    param: 'constraint.pattern',
  });
  expect(grammars.counters).toEqual({ asked: 1, known: 0, refused: 0, timedOut: 1, compiling: 0 });
});

describe('grammars that come again', () => {
  it('are compiled once, where compiling is done', async () => {
    const away = vi.fn(async (constraint: typeof WIDE, bytes: Uint8Array) =>
      compileProgram(constraint, bytes),
    );
    const grammars = createGrammars(smallVocabulary([]), away as never);
    const [first, second] = await Promise.all([grammars.get(WIDE), grammars.get(WIDE)]);
    expect(away).toHaveBeenCalledTimes(1);
    expect(second.grammar).toBe(first.grammar);
    expect(first.compileMs).toBeTypeOf('number');
    expect((await grammars.get(WIDE)).compileMs).toBeNull();
    const third = grammars.get({ ...WIDE, pattern: '(' });
    expect(grammars.counters).toEqual({ asked: 4, known: 2, refused: 0, timedOut: 0, compiling: 1 });
    await expect(third).rejects.toThrow();
    expect(grammars.counters).toEqual({ asked: 4, known: 2, refused: 1, timedOut: 0, compiling: 0 });
  });

  it('make room for others where much was worked out about them', async () => {
    const vocabulary = smallVocabulary([]);
    const patterns = ['[ab]{300}', '[cd]{300}', '[ef]{300}'].map((pattern) => ({ ...WIDE, pattern }));
    const grammars = createGrammars(vocabulary, null, { mostBytes: 80_000 });
    const bytes: number[] = [];
    for (const [i, source] of patterns.entries()) {
      const { grammar } = await grammars.get(source);
      const text = grammar.start();
      const mask = new Uint32Array(Math.ceil(vocabulary.size / 32));
      for (let at = 0; at < 100; at++) {
        text.mask(mask);
        for (const id of vocabulary.encode('ace'[i]!)) text.accept(id);
      }
      bytes.push(grammar.bytes);
    }
    const [first, second, third] = bytes;
    expect(first! + second!).toBeGreaterThan(80_000);
    expect(second! + third!).toBeGreaterThan(80_000);
    expect(third!).toBeLessThan(80_000);
    expect((await grammars.get(patterns[2]!)).compileMs).toBeNull();
    expect((await grammars.get(patterns[0]!)).compileMs).toBeTypeOf('number');
  });

  it('are there for a vocabulary that cannot spell JSON', async () => {
    const grammars = createGrammars(smallVocabulary(['a', 'b'], { bytes: false }), null);
    expect((await grammars.get({ ...WIDE, pattern: 'a+' })).grammar.start().ended).toBe(false);
  });

  it('are forgotten when the cache is emptied', async () => {
    const grammars = createGrammars(smallVocabulary([]), null);
    await grammars.get(WIDE);
    grammars.clear();
    expect((await grammars.get(WIDE)).compileMs).toBeTypeOf('number');
  });

  it('are tried anew where they failed', async () => {
    const away = vi
      .fn()
      .mockRejectedValueOnce(new Error('gone'))
      .mockImplementation(async () => {
        return compileProgram(WIDE, available);
      });
    const grammars = createGrammars(smallVocabulary([]), away);
    await expect(grammars.get(WIDE)).rejects.toThrow('gone');
    expect((await grammars.get(WIDE)).grammar).toBeTypeOf('object');
  });
});

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
        code: 'bad_request',
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

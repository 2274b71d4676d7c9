// The grammars of a model: compiled once, in another thread, within limits of size and work.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { EngineError } from '../../../../src/files/error.ts';
import { compileSource } from '../../../../src/engine/text/threads/grammar-source.ts';
import { GrammarCache } from '../../../../src/engine/text/threads/grammar-cache.ts';
import { smallVocabulary } from '../../../grammar/small-vocabulary.ts';

const available = new Uint8Array(256).fill(1);
const WIDE = { type: 'regex' as const, pattern: '[ab]{300}' };
const SUBSETS = { type: 'regex' as const, pattern: '(a|b)*a(a|b){9}' };

afterEach(() => void vi.restoreAllMocks());

describe('the bounds of a grammar', () => {
  it('are of work, which no clock changes', () => {
    vi.spyOn(performance, 'now').mockImplementation(() => Math.random() * 1e9);
    let steps = 0;
    compileSource(SUBSETS, available, { onSteps: (spent) => ((steps = spent), true) });
    expect(steps).toBeGreaterThan(0);
    expect(() => compileSource(SUBSETS, available, { most: steps / 2 })).toThrow(
      expect.objectContaining({ code: 'bad_request', message: expect.stringContaining('steps to compile') }),
    );
  });

  it('include its requests: it is given up when none waits', () => {
    expect(() => compileSource(SUBSETS, available, { onSteps: () => false })).toThrow(
      expect.objectContaining({ code: 'cancelled' }),
    );
  });

  it('are of size', () => {
    expect(() => compileSource({ type: 'regex', pattern: '(?:a{1000}){5000}' }, available)).toThrow(
      expect.objectContaining({ code: 'bad_request', message: expect.stringContaining('of over') }),
    );
  });
});

describe('grammars in the cache', () => {
  it('are compiled once, where compiling is done', async () => {
    const away = vi.fn(async (constraint: typeof WIDE, bytes: Uint8Array) =>
      structuredClone(compileSource(constraint, bytes)),
    );
    const grammars = new GrammarCache(smallVocabulary([]), away as never);
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

  it('are all there for the next request of a client with many tools', async () => {
    const grammars = new GrammarCache(smallVocabulary([]), null);
    const tools = Array.from({ length: 100 }, (_, i) => ({ ...WIDE, pattern: `tool ${i}` }));
    for (const tool of tools) await grammars.get(tool);
    for (const tool of tools) expect((await grammars.get(tool)).compileMs).toBeNull();
  });

  it('make room for others if much was computed for them', async () => {
    const vocabulary = smallVocabulary([]);
    const patterns = ['[ab]{300}', '[cd]{300}', '[ef]{300}'].map((pattern) => ({ ...WIDE, pattern }));
    const grammars = new GrammarCache(vocabulary, null, { mostBytes: 200_000 });
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
    expect(first! + second!).toBeGreaterThan(200_000);
    expect(second! + third!).toBeGreaterThan(200_000);
    expect(third!).toBeLessThan(200_000);
    expect((await grammars.get(patterns[2]!)).compileMs).toBeNull();
    expect((await grammars.get(patterns[0]!)).compileMs).toBeTypeOf('number');
  });

  it('are there for a vocabulary that cannot spell JSON', async () => {
    const grammars = new GrammarCache(smallVocabulary(['a', 'b'], { bytes: false }), null);
    expect((await grammars.get({ ...WIDE, pattern: 'a+' })).grammar.start().ended).toBe(false);
  });

  it('are forgotten when the cache is emptied', async () => {
    const grammars = new GrammarCache(smallVocabulary([]), null);
    await grammars.get(WIDE);
    grammars.clear();
    expect((await grammars.get(WIDE)).compileMs).toBeTypeOf('number');
  });

  it('are refused at once where they were refused before, until the cache is emptied', async () => {
    const away = vi.fn(async (constraint: typeof WIDE, bytes: Uint8Array) =>
      compileSource(constraint, bytes),
    );
    const grammars = new GrammarCache(smallVocabulary([]), away as never);
    const bad = { ...WIDE, pattern: '(' };
    for (let i = 0; i < 3; i++)
      await expect(grammars.get(bad)).rejects.toMatchObject({
        code: 'bad_request',
        param: 'constraint.pattern',
        message: expect.stringContaining('not closed'),
      });
    expect(away).toHaveBeenCalledTimes(1);
    expect(grammars.counters).toEqual({ asked: 3, known: 2, refused: 1, timedOut: 0, compiling: 0 });
    grammars.clear();
    await expect(grammars.get(bad)).rejects.toThrow('not closed');
    expect(away).toHaveBeenCalledTimes(2);
  });

  it('are compiled anew if a busy machine had no time for them, which is not a bad request', async () => {
    const away = vi
      .fn()
      .mockRejectedValueOnce(new EngineError('timed_out', 'too busy', { param: 'constraint' }))
      .mockImplementation(async () => compileSource(WIDE, available));
    const grammars = new GrammarCache(smallVocabulary([]), away);
    await expect(grammars.get(WIDE)).rejects.toMatchObject({ code: 'timed_out', message: 'too busy' });
    expect(grammars.counters).toEqual({ asked: 1, known: 0, refused: 0, timedOut: 1, compiling: 0 });
    expect((await grammars.get(WIDE)).grammar).toBeTypeOf('object');
    expect(away).toHaveBeenCalledTimes(2);
  });

  it('include any object from the start, whatever else is compiled', async () => {
    const grammars = new GrammarCache(smallVocabulary([]), () => new Promise(() => {}));
    void grammars.get(WIDE);
    for (let i = 0; i < 2; i++) {
      const { grammar, compileMs } = await grammars.get({ type: 'json_object' });
      expect(compileMs).toBeNull();
      expect(grammar.start().ended).toBe(false);
      grammars.clear();
    }
  });

  it('are given up once the last request that waits for them has gone', async () => {
    const asked: AbortSignal[] = [];
    const away = vi.fn(
      (_constraint: unknown, _bytes: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise<never>((_, reject) => {
          asked.push(signal);
          signal.addEventListener('abort', () => reject(new EngineError('cancelled', 'gone')));
        }),
    );
    const grammars = new GrammarCache(smallVocabulary([]), away);
    const clients = [new AbortController(), new AbortController()];
    const answers = clients.map(({ signal }) =>
      grammars.get(WIDE, signal).catch((error: EngineError) => error.code),
    );
    clients[0]!.abort();
    expect(await answers[0]).toBe('cancelled');
    expect(asked.map(({ aborted }) => aborted)).toEqual([false]);
    clients[1]!.abort();
    expect(await answers[1]).toBe('cancelled');
    expect(asked.map(({ aborted }) => aborted)).toEqual([true]);
    expect(grammars.counters).toEqual({ asked: 2, known: 1, refused: 0, timedOut: 0, compiling: 0 });
    const again = new AbortController();
    void grammars.get(WIDE, again.signal).catch(() => {});
    expect(away).toHaveBeenCalledTimes(2);
    again.abort();
  });

  it('are compiled anew if they failed', async () => {
    const away = vi
      .fn()
      .mockRejectedValueOnce(new Error('gone'))
      .mockImplementation(async () => {
        return compileSource(WIDE, available);
      });
    const grammars = new GrammarCache(smallVocabulary([]), away);
    await expect(grammars.get(WIDE)).rejects.toThrow('gone');
    expect((await grammars.get(WIDE)).grammar).toBeTypeOf('object');
  });
});

// Runs of spaces that are added tokens spelled with ▁, as Gemma's and Yi's, in all that reads tokens as text: deltas, stops, logprobs,
// grammars and banned words.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bannedWords } from '../../../src/engine/text/request/banned-words.ts';
import { compileSource } from '../../../src/engine/text/threads/grammar-source.ts';
import { createPieces } from '../../../src/engine/text/calls/piece.ts';
import { openTokenizer } from '../../../src/files/tokenizer/tokenizer.ts';
import { Grammar } from '../../../src/grammar/grammar.ts';
import { createVocabulary } from '../../../src/grammar/masks/vocabulary.ts';
import { maskWords } from '../../../src/kernels/logits-mask.ts';
import { paperSequence } from './paper-sequence.ts';

interface Golden {
  cases: { name: string; json: Record<string, unknown> }[];
}

const { cases } = JSON.parse(
  readFileSync(new URL('../../golden/added-tokens.json', import.meta.url), 'utf8'),
) as Golden;
const END = 2;

describe.each([
  ["Gemma's", '    '],
  ["Yi's", '   '],
])('a run of four ▁ in a tokenizer: %s', (name, atStart) => {
  const tokenizer = openTokenizer({ tokenizerJson: cases.find((one) => one.name === name)!.json });
  const id = (token: string): number => tokenizer.tokenToId(token)!;
  const [run, hi, line] = [id('▁▁▁▁'), id('hi'), id('\n')];
  const size = tokenizer.vocabSize;
  const vocabulary = createVocabulary(tokenizer, size, [END]);

  function replyOf(ids: number[], stop: string[] = []): { text: string; done: unknown } {
    const pieces = createPieces(tokenizer, { skipSpecialTokens: true });
    const sequence = paperSequence([1], 100, { stopIds: [END], stop, pieces });
    for (const token of ids) if (!sequence.finished) sequence.acceptToken(token);
    const deltas = sequence.events.filter((event) => event.type === 'delta');
    const done = sequence.events.find((event) => event.type === 'done');
    return { text: deltas.map(({ text }) => text).join(''), done };
  }

  function allows(pattern: string, before: number[], token: number): boolean {
    const program = compileSource({ type: 'regex', pattern }, vocabulary.available);
    const constraint = new Grammar(program, vocabulary).start();
    const sequence = paperSequence([1], 100, { stopIds: [END], constraint, logprobs: 0 });
    for (const one of before) sequence.acceptToken(one);
    const mask = new Uint32Array(maskWords(size));
    sequence.writeMask(mask);
    return ((mask[token >> 5]! >>> (token & 31)) & 1) === 1;
  }

  it('is four spaces in a reply, without the leading space that decoding cuts', () => {
    expect(replyOf([hi, line, run, hi, END]).text).toBe('hi\n    hi');
    expect(replyOf([run, hi, END]).text).toBe(`${atStart}hi`);
  });

  it('completes stops of spaces', () => {
    const { text, done } = replyOf([hi, line, run, hi, END], ['\n   ']);
    expect(text).toBe('hi');
    expect(done).toMatchObject({ finishReason: 'stop', matchedStop: '\n   ' });
  });

  it('has the bytes of spaces in logprobs', () => {
    const pieces = createPieces(tokenizer, { skipSpecialTokens: true });
    expect([...pieces.bytes(run)]).toEqual([0x20, 0x20, 0x20, 0x20]);
    expect(pieces.ownText(run)).toBe('    ');
  });

  it('is spaces to a grammar', () => {
    expect(allows('hi\\n {4}(hi|x)', [hi, line], run)).toBe(true);
    expect(allows('hi\\n( {3}|▁{4})(hi|x)', [hi, line], run)).toBe(false);
    expect(allows(`${atStart}(hi|x)`, [], run)).toBe(true);
  });

  it('is banned where spaces are', () => {
    const banned = bannedWords(['i  '], vocabulary)();
    banned.accept(hi);
    expect(banned.has(run)).toBe(true);
    expect(banned.has(line)).toBe(false);
  });
});

// Errors of the grammar room after their conversion to EngineErrors.

import { expect, it } from 'vitest';
import { compileSource } from '../../../../src/engine/text/threads/grammar-source.ts';
import { stopsOf } from '../../../../src/engine/text/request/prepare-reply.ts';
import { asEngineError } from '../../../../src/engine/text/run/sequence.ts';
import { EngineError } from '../../../../src/files/error.ts';
import { GrammarError } from '../../../../src/grammar/bounds/grammar-error.ts';

const available = new Uint8Array(256).fill(1);

it('a grammar with an error is an EngineError with the place', () => {
  const compile = () => compileSource({ type: 'regex', pattern: 'a(' }, available);
  expect(compile).toThrow(EngineError);
  expect(compile).toThrow(expect.objectContaining({ code: 'bad_request', param: 'constraint.pattern' }));
});

it('a stop expression with an error is an EngineError with the place', async () => {
  for (const stopRegex of [
    ['a', '('],
    ['a', 'b*'],
    ['a', `(?=a)${'b'.repeat(300)}`],
  ]) {
    const failure = await stopsOf({ prompt: { text: '' }, stopRegex }, null).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(EngineError);
    expect(failure).toMatchObject({ code: 'bad_request', param: 'stopRegex.1' });
  }
});

it('a matcher that fails in the middle of a text ends it with an EngineError', () => {
  const cause = new GrammarError('bad_request', 'too many ways', { param: 'constraint' });
  const error = asEngineError(cause);
  expect(error).toBeInstanceOf(EngineError);
  expect(error).toMatchObject({ code: 'bad_request', message: 'too many ways', param: 'constraint', cause });
});

// Errors as replies whose status depends on more than the code.

import { expect, it } from 'vitest';
import { EngineError } from '../../../src/index.ts';
import { toErrorReply } from '../../../src/server/http/errors.ts';

it('memory that a field of the request asks for is the fault of the request, other memory is not', () => {
  const own = toErrorReply(new EngineError('out_of_memory', 'too large', { param: 'width' }));
  expect(own).toMatchObject({
    status: 400,
    body: { error: { type: 'invalid_request_error', param: 'width', code: 'out_of_memory' } },
  });
  const other = toErrorReply(new EngineError('out_of_memory', 'none is left'));
  expect(other).toMatchObject({ status: 503, body: { error: { type: 'server_error', param: null } } });
});

it('a grammar for which a busy machine had no time is a 503 that is worth a retry', () => {
  const late = toErrorReply(new EngineError('timed_out', 'too busy', { param: 'constraint' }));
  expect(late).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
});

// Renames an error's parameter for interfaces that use another name.

import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { EngineError } from '../../src/files/error.ts';

it.each([
  ['clipSkip is 9; it is an integer from 0 to 2', '--clip-skip is 9; it is an integer from 0 to 2'],
  ['the model has no layers to skip', '--clip-skip: the model has no layers to skip'],
  ['clipSkips are many', '--clip-skip: clipSkips are many'],
])('the message %j is %j under the option that was typed', (message, told) => {
  const cause = new Error('why');
  const error = new EngineError('bad_request', message, { param: 'clipSkip', cause });
  expect(error.underName('--clip-skip')).toMatchObject({
    code: 'bad_request',
    message: told,
    param: '--clip-skip',
    cause,
  });
});

it('a console prints the message of an error once', () => {
  const error = new EngineError('bad_request', 'topK is 0', { param: 'topK' });
  expect(inspect(error).split('topK is 0')).toHaveLength(2);
});

it('a long value in a message is cut, and the words around it stay', () => {
  const { message } = new EngineError(
    'bad_checkpoint',
    `config.json: a is "${'x'.repeat(1e6)}", a number is needed`,
  );
  expect(message).toMatch(/^config\.json: a is "x{200,}…x+", a number is needed$/);
  expect(message.length).toBeLessThan(400);
  expect(new EngineError('bad_request', 'a b '.repeat(10_000)).message.length).toBeLessThan(2100);
});

// One test for each field of the interface, by name: neutral values, values with the resulting engine request, and refusals; all of
// it over HTTP, streamed and plain. scripts/check-readme.mjs finds these tests by their name.

import { describe, expect, it } from 'vitest';
import type { TextRequest } from '../../src/index.ts';
import { ask, start } from './harness.ts';

/** Other members of the request. */
interface Beside {
  with?: object;
}

export interface FieldTest {
  /** Values that do not change the engine's request. */
  neutral?: unknown[];
  /** Values, and the members that the engine's request then has. */
  asks?: [value: unknown, request: Partial<TextRequest>, beside?: Beside][];
  /** Values, and the text of the refusal; `param` if it is not the field itself. */
  refused?: [value: unknown, text: string, beside?: Beside & { param?: string; code?: string }][];
}

export function field(name: string, { neutral = [], asks = [], refused = [] }: FieldTest): void {
  describe(name, () => {
    if (neutral.length > 0)
      it('asks for nothing at its neutral values', async () => {
        const { post, model } = await start({ strict: true });
        for (const value of [...neutral, null]) {
          for (const stream of [false, true]) {
            const response = await post(ask('hi', { [name]: value, stream }));
            expect([value, response.status, await response.text()]).toEqual([value, 200, expect.anything()]);
            expect(model.requests.at(-1)).toEqual({
              id: expect.any(String),
              prompt: { messages: [{ role: 'user', content: 'hi' }] },
            });
          }
        }
      });

    if (asks.length > 0)
      it('reaches the engine', async () => {
        const { post, model } = await start({ strict: true });
        for (const [value, request, beside] of asks) {
          for (const stream of [false, true]) {
            const response = await post(ask('hi', { [name]: value, ...beside?.with, stream }));
            expect([value, response.status, await response.text()]).toEqual([value, 200, expect.anything()]);
            expect(model.requests.at(-1)).toMatchObject(request);
          }
        }
      });

    if (refused.length > 0)
      it('is refused where it is wrong, before any status line', async () => {
        const { post, model } = await start();
        for (const [value, text, { with: beside, param = name, code } = {}] of refused) {
          for (const stream of [false, true]) {
            const response = await post(ask('hi', { stream, ...beside, [name]: value }));
            const error = ((await response.json()) as { error: object }).error;
            expect([value, response.status, error]).toMatchObject([
              value,
              code === 'model_not_found' ? 404 : 400,
              { param, message: expect.stringContaining(text), ...(code !== undefined && { code }) },
            ]);
          }
        }
        expect(model.requests).toEqual([]);
      });
  });
}

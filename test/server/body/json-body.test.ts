import { expect, it } from 'vitest';
import { readBytes } from '../../../src/server/body/json-body.ts';
import { eventually } from '../harness.ts';

const MEBIBYTE = 2 ** 20;

/** A request with an endless body, and a count of the bytes that were read of it. */
function endless(headers: Record<string, string> = {}) {
  const asked = { pieces: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        asked.pieces += 1;
        controller.enqueue(new Uint8Array(MEBIBYTE));
      },
      cancel() {
        asked.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { asked, request: { body, headers: new Headers(headers) } as Request };
}

it.each([
  ['at once by its length', { 'content-length': String(65 * MEBIBYTE) }, 20],
  ['after 64 MiB without one', {}, 90],
])('a body that is too large is refused %s', async (_, headers, most) => {
  const { asked, request } = endless(headers);
  await expect(readBytes(request)).rejects.toMatchObject({ code: 'request_too_large' });
  expect(asked.pieces).toBeLessThan(most);
  // The rest of the body is read, so that the sender reads the reply; but not without limit.
  await eventually(() => asked.cancelled, 'it is given up');
  expect(asked.pieces).toBeGreaterThan(256);
  expect(asked.pieces).toBeLessThan(330);
});

it('a body that comes in pieces is joined', async () => {
  const body = new ReadableStream({
    start(controller) {
      for (const text of ['{"a"', ':1', '}']) controller.enqueue(Buffer.from(text));
      controller.close();
    },
  });
  const bytes = await readBytes({ body, headers: new Headers() } as Request);
  expect(Buffer.from(bytes).toString()).toBe('{"a":1}');
  expect(await readBytes({ body: null, headers: new Headers() } as Request)).toHaveLength(0);
});

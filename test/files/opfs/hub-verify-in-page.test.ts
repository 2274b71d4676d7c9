// Downloads of a page that arrive damaged, or from a hub that hides the headers of its responses.

import { expect, onTestFinished, test, vi } from 'vitest';
import { gitId, sha256, tinyModel } from '../hub/mock-hub.ts';
import { firstly, IMPATIENT, ONE_PART, WEIGHTS, weightsOf } from '../hub/mock-hub-fixture.ts';
import { FOLDER, originFixture } from './page-fixture.ts';

const PARTIAL = `${FOLDER}/blobs/${sha256(weightsOf())}.incomplete`;
/** One attempt, which a busy machine has time for. */
const GIVES_UP = { limits: { ...IMPATIENT, attempts: 1, stallMs: 10_000, partBytes: 1 << 20 } };

test.each([WEIGHTS, 'config.json'])('%s is refused by name when it arrives corrupt twice', async (name) => {
  const { hub, storage, tab } = await originFixture();
  hub.fault = (path) => (path === name ? { corrupt: true } : undefined);
  await expect(tab().resolve(ONE_PART)).rejects.toMatchObject({
    code: 'bad_checkpoint',
    param: name,
    message: expect.stringMatching(/arrived corrupt twice: its (sha256|git id) is \w+ instead of \w+/),
  });
  const digest = name === WEIGHTS ? sha256(weightsOf()) : gitId(tinyModel().get(name)!);
  expect(Object.keys(storage.files()).filter((path) => path.includes(digest))).toEqual([]);
});

test('a file that arrives corrupt once is fetched once more', async () => {
  const { hub, tab } = await originFixture();
  hub.fault = firstly({ corrupt: true });
  const page = tab();
  const { path } = await page.resolve(ONE_PART);
  expect((await page.read(path, WEIGHTS)).equals(weightsOf())).toBe(true);
});

/** Makes fetch show a response as a browser does whose server exposes no header: those that every page may read. */
function hideHeaders(): void {
  const whole = globalThis.fetch;
  vi.stubGlobal('fetch', async (...given: Parameters<typeof fetch>) => {
    const { status, headers, body } = await whole(...given);
    const shown = ['content-type', 'content-length'].flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value] as [string, string]];
    });
    return new Response(body, { status, headers: shown });
  });
  onTestFinished(() => void vi.unstubAllGlobals());
}

test.each([{}, { ignoreRange: true }])(
  'a hub that exposes no headers to pages is enough (%j)',
  async (fault) => {
    const { hub, tab } = await originFixture();
    hideHeaders();
    hub.fault = () => fault;
    const page = tab();
    const { path } = await page.resolve();
    expect((await page.read(path, WEIGHTS)).equals(weightsOf())).toBe(true);
  },
);

test('a partial file of other bytes is found by the digest and fetched afresh', async () => {
  const { hub, storage, tab } = await originFixture();
  hub.fault = firstly({ after: 131_072, finish: 'drop' });
  await expect(tab().resolve(GIVES_UP)).rejects.toMatchObject({ code: 'network' });
  expect(storage.files()[PARTIAL]).toBeGreaterThan(65_536);
  storage.content(PARTIAL).bytes.fill(0, 0, 10);
  const page = tab();
  const { path } = await page.resolve(ONE_PART);
  expect(page.events).toContainEqual(
    expect.objectContaining({
      type: 'retry',
      path: WEIGHTS,
      reason: expect.stringContaining('its sha256 is'),
    }),
  );
  expect((await page.read(path, WEIGHTS)).equals(weightsOf())).toBe(true);
});

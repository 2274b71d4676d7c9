// Towers beside other work: steps of requests that decode run between the segments of a tower, and requests that ask about one image at the
// same time share its decoding and its tower.

import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { TowerRecording } from '../../../../src/engine/text/towers/tower-recording.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import type { Platform } from '../../../../src/engine/platform/platform.ts';
import { StepLauncher } from '../../../../src/engine/text/step/launch.ts';
import type { TextModel, TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import { encodeImage } from '../../../../src/index.ts';
import { run } from './conversations.ts';
import { openMediaGolden, openMediaModel, type MediaGolden, requestOf } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

let golden: MediaGolden;
let model: TextModel;
const decodings = vi.fn(nodePlatform.media.image);
beforeAll(async () => {
  golden = await openMediaGolden('qwen2-5-vl');
  const platform: Platform = { ...nodePlatform, media: { ...nodePlatform.media, image: decodings } };
  model = await openMediaModel(golden, { prefillChunk: 16, maxRunningRequests: 4 }, { platform });
});
afterAll(() => model.close());
afterEach(() => void vi.restoreAllMocks());

type Work = 'segment' | 'step' | 'step with media';

/** The work that is submitted from now on, in order. */
function watch(): Work[] {
  const works: Work[] = [];
  const submits = TowerRecording.prototype.submits;
  vi.spyOn(TowerRecording.prototype, 'submits').mockImplementation(function* (
    this: TowerRecording,
    ...given
  ) {
    for (const waits of submits.apply(this, given)) {
      works.push('segment');
      yield waits;
    }
  });
  const launch = StepLauncher.prototype.launch;
  vi.spyOn(StepLauncher.prototype, 'launch').mockImplementation(function (
    this: StepLauncher,
    parts,
    options,
  ) {
    works.push(parts.some(({ sequence }) => sequence.request.media) ? 'step with media' : 'step');
    return launch.call(this, parts, options);
  });
  return works;
}

it('other requests decode between the segments of a tower', async () => {
  const controller = new AbortController();
  const long: TextRequest = { prompt: { text: 'Hello' }, temperature: 0, maxTokens: 1000, ignoreEos: true };
  const events = model.generate(long, { signal: controller.signal });
  const decoding = (async () => {
    for await (const event of events) void event;
  })();
  while ((await model.metrics()).generatedTokens < 2) await new Promise((resolve) => setTimeout(resolve, 2));
  const works = watch();
  const [one] = golden.cases;
  expect((await run(model, requestOf(golden, one!))).ids).toEqual(one!.greedy);
  controller.abort();
  await decoding;
  const tower = works.slice(works.indexOf('segment'), works.lastIndexOf('segment') + 1);
  const segments = tower.filter((work) => work === 'segment').length;
  expect(segments).toBeGreaterThan(2);
  expect(tower).not.toContain('step with media');
  // A step between all segments but a few: the loop reads the tokens of earlier steps meanwhile.
  const between = tower.filter((work, i) => work === 'segment' && tower[i - 1] === 'step').length;
  expect(between).toBeGreaterThanOrEqual((segments - 1) / 2);
});

it('requests that ask about one image at the same time decode it and run its tower once', async () => {
  const bytes = await encodeImage(golden.images[1]!, { format: 'png' });
  const works = watch();
  decodings.mockClear();
  const ask = (text: string): TextRequest => ({
    prompt: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', image: Uint8Array.from(bytes) },
            { type: 'text', text },
          ],
        },
      ],
    },
    temperature: 0,
    maxTokens: 4,
    ignoreEos: true,
  });
  const submits = vi.mocked(TowerRecording.prototype.submits);
  const both = await Promise.all(['What?', 'Where?'].map((text) => run(model, ask(text))));
  expect(both.map(({ ids }) => ids.length)).toEqual([4, 4]);
  expect(decodings).toHaveBeenCalledTimes(1);
  expect(submits).toHaveBeenCalledTimes(1);
  expect(works).toContain('step with media');
});

it('a request that is ended by its id while its image is decoded ends the decoding', async () => {
  let ended: AbortSignal | undefined;
  decodings.mockImplementationOnce((_, _name, { signal }) => {
    ended = signal;
    return new Promise(() => {});
  });
  const content = [{ type: 'image' as const, image: Uint8Array.of(1) }];
  const request: TextRequest = {
    id: 'slow',
    prompt: { messages: [{ role: 'user', content }] },
    maxTokens: 2,
  };
  const ending = run(model, request);
  await vi.waitFor(() => expect(ended).toBeDefined());
  expect(await model.abort('slow')).toBe(1);
  await expect(ending).rejects.toMatchObject({ code: 'cancelled' });
  expect(ended!.aborted).toBe(true);
});

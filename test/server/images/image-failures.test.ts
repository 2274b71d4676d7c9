// What goes wrong while the server draws loses that image only: the next request is drawn.

import { expect, it } from 'vitest';
import { eventually } from '../harness.ts';
import { readReply, startImages } from './image-harness.ts';

it.each([
  ['device_lost', 503],
  ['disk_full', 507],
  ['out_of_memory', 503],
])('the error %s has the status %d', async (code, status) => {
  const { generate, model } = await startImages();
  const failed = await generate({ prompt: `fail ${code}` });
  expect(failed.status).toBe(status);
  expect((await readReply(failed)).error).toMatchObject({ code, message: `failed with ${code}` });
  const streamed = await (await generate({ prompt: `fail ${code}`, stream: true })).text();
  expect(streamed).toContain(`"code":"${code}"`);
  expect(streamed).not.toContain('image_generation.completed');
  const next = await generate({ n: 2 });
  expect(next.status).toBe(200);
  expect((await readReply(next)).data).toHaveLength(2);
  expect(model.running).toBe(0);
});

it.each([
  [{ size: '32x24' }, 'size'],
  [{ height: 24, width: 32 }, 'width'],
])('a size that never fits is an error of the request %j', async (size, param) => {
  const { generate } = await startImages();
  const failed = await generate({ prompt: 'fail out_of_memory width', ...size });
  const error = { code: 'out_of_memory', type: 'invalid_request_error', param };
  expect([failed.status, (await readReply(failed)).error]).toMatchObject([400, error]);
  const streamed = await (
    await generate({ prompt: 'fail out_of_memory width', stream: true, ...size })
  ).text();
  expect(streamed).toContain(`"param":"${param}"`);
});

it('a clip is refused before it is drawn', async () => {
  const { generate } = await startImages();
  const refused = await generate({ num_frames: 3 });
  expect(refused.status).toBe(400);
  expect((await readReply(refused)).error).toMatchObject({
    param: 'num_frames',
    message: 'an image has one frame, and 3 would be drawn: give num_frames 1, or send it to POST /v1/videos',
  });
  expect((await generate({ num_frames: 1 })).status).toBe(200);
});

it('a client that leaves loses its own image', async () => {
  const { generate, model } = await startImages();
  const leave = new AbortController();
  const gone = generate({ prompt: 'hang' }, { signal: leave.signal });
  await eventually(() => model.running === 1, 'it is drawn');
  const next = generate({});
  leave.abort();
  await expect(gone).rejects.toThrow();
  expect((await next).status).toBe(200);
});

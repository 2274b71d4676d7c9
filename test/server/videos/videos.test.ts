import { connect } from 'node:net';
import sharp from 'sharp';
import { toFile } from 'openai';
import { describe, expect, it } from 'vitest';
import { openFakeImageModel } from '../fake-image-model.ts';
import { eventually } from '../harness.ts';
import { formOf, pngFile } from '../images/image-harness.ts';
import { occupy, startVideos, type VideoBody } from './video-harness.ts';

describe('a video', () => {
  it('is asked for, watched and downloaded by OpenAI’s client', async () => {
    const { client, model } = await startVideos();
    const more: object = { seed: 5 };
    const asked = await client.videos.create({ prompt: 'a wave', size: '32x24' as '720x1280', ...more });
    expect(asked).toMatchObject({
      id: expect.stringMatching(/^video_/),
      object: 'video',
      status: 'queued',
      progress: 0,
      prompt: 'a wave',
      seconds: '0.38',
      size: '32x24',
      error: null,
      url: null,
    });
    await expect.poll(async () => (await client.videos.retrieve(asked.id)).status).toBe('completed');
    const done = (await client.videos.retrieve(asked.id)) as unknown as VideoBody;
    expect(done).toMatchObject({ progress: 100, seeds: [5], num_frames: 3, fps: 8, queue_position: null });
    expect(done.expires_at).toBe(done.completed_at! + 3600);
    const content = await client.videos.downloadContent(asked.id);
    const file = Buffer.from(await content.arrayBuffer());
    expect(content.headers.get('content-type')).toBe('video/mp4');
    expect(file.toString('latin1', 4, 12)).toBe('ftypisom');
    expect(file.length).toBe(Number(content.headers.get('content-length')));
    expect(model.requests).toEqual([{ prompt: 'a wave', seed: 5, width: 32, height: 24 }]);
  });

  it('is drawn though its client has left, and several have a file each', async () => {
    const { created, ended, url } = await startVideos();
    const { id } = await created({
      seed: [40, 90],
      output_quality: 'maximum',
    });
    const { seeds, num_outputs, url: own } = await ended(id);
    expect([seeds, num_outputs, own]).toEqual([[40, 90], 2, `${url}/v1/videos/${id}/content`]);
    const reds = [];
    for (const variant of ['', '?variant=video', '?variant=0', '?variant=1']) {
      const bytes = await (await fetch(`${own}${variant}`)).arrayBuffer();
      reds.push((await sharp(Buffer.from(bytes)).raw().toBuffer())[0]);
    }
    expect(reds.map((red) => Math.round(red! / 10))).toEqual([4, 4, 4, 9]);
    for (const variant of ['2', 'thumbnail']) {
      const response = await fetch(`${own}?variant=${variant}`);
      expect([response.status, await response.json()]).toMatchObject([404, { error: { param: 'variant' } }]);
    }
  });

  it('has the size of its enlarged frames', async () => {
    const { created, ended, model } = await startVideos();
    const { id, size } = await created({ enable_upscaling: true, output_format: 'webp' });
    expect(size).toBe('128x96');
    const { url } = await ended(id);
    const file = Buffer.from(await (await fetch(url!)).arrayBuffer());
    expect(await sharp(file, { page: 2 }).metadata()).toMatchObject({ width: 128, height: 96 });
    expect(model.requests[0]).toMatchObject({ enableUpscaling: true });
  });

  it('has a seed for each of a list, and the frames that its seconds have', async () => {
    const { created, ended, model } = await startVideos();
    const listed = await created({ seed: [9, 3], seconds: '1.5' });
    expect(listed).toMatchObject({ num_outputs: 2, num_frames: 13, seconds: '1.63' });
    expect((await ended(listed.id)).seeds).toEqual([9, 3]);
    await created({ seconds: 2, fps: 4 });
    await created({ seconds: 2, num_frames: 5 });
    await created({});
    await eventually(() => model.requests.length === 5, 'all are drawn');
    expect(model.requests.map(({ frames, fps }) => [frames, fps])).toEqual([
      [13, undefined],
      [13, undefined],
      [9, 4],
      [5, undefined],
      [undefined, undefined],
    ]);
  });

  it('starts from an image of a form, of a data: URL, and of a URL that may be fetched', async () => {
    const { client, create, created, model, url } = await startVideos();
    const file = await pngFile(16, 8, { r: 9, g: 0, b: 0, alpha: 1 });
    const data = `data:image/png;base64,${Buffer.from(await file.arrayBuffer()).toString('base64')}`;
    const webp: object = { output_format: 'webp' };
    await client.videos.create({ prompt: 'a', input_reference: await toFile(file), ...webp });
    await client.videos.create({ prompt: 'b', input_reference: { image_url: data }, ...webp });
    await created({ prompt: 'c', reference_url: data });
    await created({ prompt: 'd', input_reference: { image_url: data } });
    const form = formOf({ prompt: 'e', input_reference: data, num_frames: '5', ...webp });
    expect((await fetch(`${url}/v1/videos`, { method: 'POST', body: form })).status).toBe(200);
    await eventually(() => model.requests.length === 5, 'all are drawn');
    expect(model.requests.map(({ prompt, image }) => [prompt, image?.width])).toEqual(
      ['a', 'b', 'c', 'd', 'e'].map((prompt) => [prompt, 16]),
    );
    for (const input_reference of [`${url}/docs`, 'data:image/png;base64,AAAA', 'nothing']) {
      const refused = await create({ input_reference });
      expect([refused.status, await refused.json()]).toMatchObject([
        400,
        { error: { param: 'input_reference' } },
      ]);
    }
  });
});

describe('videos', () => {
  it('are listed a page at a time', async () => {
    const { client, created, url } = await startVideos();
    const ids: string[] = [];
    for (let at = 0; at < 5; at++) ids.push((await created()).id);
    const pages: string[] = [];
    for await (const { id } of client.videos.list({ limit: 2 })) pages.push(id);
    expect(pages).toEqual(ids.toReversed());
    const { data } = await client.videos.list({ order: 'asc', after: ids[1]! });
    expect(data.map(({ id }) => id)).toEqual(ids.slice(2));
    for (const [name, value] of Object.entries({ limit: '0', order: 'up', after: 'video_0' })) {
      const response = await fetch(`${url}/v1/videos?${name}=${value}`);
      expect([response.status, await response.json()]).toMatchObject([400, { error: { param: name } }]);
    }
  });

  it('wait for their turn and tell their place, up to a bound, then 429', async () => {
    const videos = await startVideos({ maxQueuedImages: 2 });
    const { at, created, create, client, ended } = videos;
    const first = await occupy(videos);
    const second = await created();
    const third = await created();
    expect([second.queue_position, third.queue_position]).toEqual([1, 2]);
    expect((await create({})).status).toBe(429);
    expect(await at(first.id)).toMatchObject({ status: 'in_progress', queue_position: null, progress: 5 });
    await client.videos.delete(second.id);
    expect(await at(third.id)).toMatchObject({ status: 'queued', queue_position: 1 });
    await client.videos.delete(first.id);
    expect(await ended(third.id)).toMatchObject({ status: 'completed' });
  });

  it('are cancelled while they are drawn and while they wait, once', async () => {
    const videos = await startVideos();
    const { created, ended, model, server, url } = videos;
    const ids = [(await occupy(videos)).id, (await created()).id];
    const cancel = (id: string) => fetch(`${url}/v1/videos/${id}/cancel`, { method: 'POST' });
    for (const id of ids.toReversed()) {
      expect(await (await cancel(id)).json()).toMatchObject({ status: 'cancelling' });
      expect(await ended(id)).toMatchObject({ status: 'cancelled', error: null, url: null });
    }
    expect([model.requests.length, model.running, server.running()]).toEqual([1, 0, 0]);
    const again = await cancel(ids[0]!);
    expect([again.status, await again.json()]).toMatchObject([
      400,
      { error: { message: expect.stringContaining('it is cancelled') } },
    ]);
    expect((await fetch(`${url}/v1/videos/${ids[0]}/content`)).status).toBe(404);
  });

  it('are deleted in whatever state, and unknown afterwards', async () => {
    const videos = await startVideos();
    const { client, created, ended, model } = videos;
    const done = await created();
    await ended(done.id);
    const drawn = await occupy(videos);
    for (const { id } of [done, drawn]) {
      expect(await client.videos.delete(id)).toMatchObject({ id, deleted: true, object: 'video.deleted' });
      await expect(client.videos.retrieve(id)).rejects.toMatchObject({ status: 404 });
      await expect(client.videos.downloadContent(id)).rejects.toMatchObject({ status: 404 });
      await expect(client.videos.delete(id)).rejects.toMatchObject({ status: 404 });
    }
    await eventually(() => model.running === 0, 'nothing is drawn any more');
  });

  it.each(['device_lost', 'disk_full', 'out_of_memory'])('fail with %s alone', async (code) => {
    const { created, ended } = await startVideos();
    const failed = await created({ prompt: `fail ${code}` });
    const next = await created();
    expect(await ended(failed.id)).toMatchObject({
      status: 'failed',
      error: { code, message: `failed with ${code}` },
    });
    expect(await ended(next.id)).toMatchObject({ status: 'completed', error: null });
  });

  it('fail without the text of an error that nobody foresaw, which the log has', async () => {
    const { created, ended, lines } = await startVideos();
    const { id } = await created({ prompt: 'crash' });
    expect((await ended(id)).error).toMatchObject({ code: 'internal' });
    expect(JSON.stringify(await ended(id))).not.toContain('nobody foresaw');
    expect(lines.some((line) => line.includes('nobody foresaw this'))).toBe(true);
  });

  it('fail when the server stops before they are complete', async () => {
    const videos = await startVideos({ drainTime: 50 });
    await occupy(videos);
    await videos.created();
    await videos.server.close();
    expect(videos.model.running).toBe(0);
    expect(videos.lines.filter((line) => line.includes('failed stopping'))).toHaveLength(2);
  });
});

it('a model that draws only images is named in the refusal of a video', async () => {
  const { create, created, server } = await startVideos();
  server.addModel({ names: ['stills'] }).ready(await openFakeImageModel());
  const refused = await create({ model: 'stills' });
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    {
      error: {
        code: 'unsupported',
        param: 'model',
        message: expect.stringMatching(/draws images, not videos; send it to POST \/v1\/images.*fake-scenes/),
      },
    },
  ]);
  expect((await created({ model: 'default' })).num_frames).toBe(3);
});

it('videos need the key of the server, their files, too', async () => {
  const { url } = await startVideos({ apiKey: 'secret' });
  for (const path of ['', '/video_0', '/video_0/content'])
    expect((await fetch(`${url}/v1/videos${path}`)).status).toBe(401);
});

it('a client that closes its connection once it has a whole file has not left', async () => {
  const { created, ended, url, lines } = await startVideos();
  const { id } = await ended((await created()).id);
  const times = 3;
  for (let i = 0; i < times; i++) await readAndClose(url, `/v1/videos/${id}/content`);
  const logged = () => lines.filter((line) => line.includes('/content '));
  await eventually(() => logged().length === times, 'the log has them');
  expect(logged().filter((line) => line.includes('client left'))).toEqual([]);
});

/** Closes a connection in the tick in which the last byte of its reply arrives. */
async function readAndClose(url: string, path: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  let reply = Buffer.alloc(0);
  for await (const bytes of socket as AsyncIterable<Buffer>) {
    reply = Buffer.concat([reply, bytes]);
    const length = /content-length: (\d+)[^]*?\r\n\r\n/.exec(reply.toString('latin1'));
    if (length && reply.length >= length.index + length[0].length + Number(length[1])) break;
  }
  socket.destroy();
}

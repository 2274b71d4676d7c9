// Videos under --output-path outlive their server, and in memory they are bounded.

import type * as disk from 'node:fs/promises';
import { chmod, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import type { VideoRecord } from '../../../src/server/videos/video-reply-schema.ts';
import { VideosInMemory } from '../../../src/server/videos/video-files.ts';
import { VideoStore } from '../../../src/server/videos/video-store.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { eventually } from '../harness.ts';
import { occupy, startVideos } from './video-harness.ts';

type Disk = typeof disk;

/** What is written to a full disk: the texts or bytes for which there is no space. */
const full = vi.hoisted((): { takes(data: unknown): boolean } => ({ takes: () => true }));

vi.mock('node:fs/promises', async (original) => {
  const real = await original<Disk>();
  const writeFile = async (path: string, data: string | Uint8Array, options?: { flag: string }) => {
    if (!path.endsWith('.part') || full.takes(data)) return real.writeFile(path, data, options);
    await real.writeFile(path, '', options);
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  };
  return { ...real, default: { ...real, writeFile }, writeFile };
});

afterEach(() => {
  full.takes = () => true;
});

const folderOf = temporaryFolders();

it('videos are there after a restart, and those that were not complete have failed', async () => {
  const outputPath = join(await folderOf({}), 'videos');
  const first = await startVideos({ outputPath });
  const made = await first.created({ n: 2, seed: 5 });
  const before = await first.ended(made.id);
  expect(before).toMatchObject({
    expires_at: null,
    file_path: join(outputPath, `${made.id}_0.webp`),
    file_paths: [0, 1].map((at) => join(outputPath, `${made.id}_${at}.webp`)),
  });
  const hung = await occupy(first);
  const waits = await first.created();
  const content = (url: string) => fetch(`${url}/v1/videos/${made.id}/content?variant=1`);
  const bytes = await (await content(first.url)).arrayBuffer();
  // The records of a server that was killed: those of before its end.
  const records = [hung, waits].map(({ id }) => join(outputPath, `${id}.json`));
  const texts = await Promise.all(records.map((path) => readFile(path, 'utf8')));
  await first.server.close();
  expect(JSON.parse(await readFile(records[0]!, 'utf8'))).toMatchObject({ error: { code: 'stopping' } });
  for (const [at, path] of records.entries()) await writeFile(path, texts[at]!);
  await writeFile(join(outputPath, `${hung.id}.webp`), 'partial');

  const second = await startVideos({ outputPath });
  expect(await second.at(made.id)).toEqual({ ...before, url: before.url!.replace(first.url, second.url) });
  expect(await (await content(second.url)).arrayBuffer()).toEqual(bytes);
  for (const { id } of [hung, waits]) {
    expect(await second.at(id)).toMatchObject({
      status: 'failed',
      error: { code: 'stopping', message: expect.stringContaining('the server ended before') },
    });
    await second.client.videos.delete(id);
  }
  await second.client.videos.delete(made.id);
  expect(await readdir(outputPath)).toEqual([]);
  expect(second.lines.filter((line) => line.startsWith('warn'))).toEqual([]);
});

it('damaged and partial videos are left out with a warning, and other files stay', async () => {
  const outputPath = await folderOf({});
  const first = await startVideos({ outputPath });
  const ids: string[] = [];
  for (let at = 0; at < 5; at++) ids.push((await first.ended((await first.created()).id)).id);
  const [good, cut, gone, damaged, foreign] = ids.map((id) => join(outputPath, id));
  await first.server.close();
  await truncate(`${cut}.webp`, 9);
  await rm(`${gone}.webp`);
  await writeFile(`${damaged}.json`, '{"id":');
  const record = JSON.parse(await readFile(`${foreign}.json`, 'utf8')) as VideoRecord;
  await writeFile(`${foreign}.json`, JSON.stringify({ ...record, id: record.id.replace(/.$/, '/') }));
  await writeFile(join(outputPath, 'notes.json'), 'none of ours');
  const second = await startVideos({ outputPath });
  const { data } = await second.client.videos.list();
  expect(data.map(({ id }) => join(outputPath, id))).toEqual([good]);
  const warnings = second.lines.filter((line) => line.startsWith('warn'));
  expect(warnings).toHaveLength(4);
  for (const path of [cut, gone, damaged, foreign])
    expect(warnings.some((line) => line.includes(`${path}.json is left out of /v1/videos: `))).toBe(true);
  expect(await readFile(join(outputPath, 'notes.json'), 'utf8')).toBe('none of ours');
});

it('a full disk loses the video that has no space, and leaves no partial file', async () => {
  const outputPath = await folderOf({});
  const { create, created, ended } = await startVideos({ outputPath });
  full.takes = (data) => typeof data === 'string';
  const { id } = await created({ n: 2 });
  const failed = await ended(id);
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'disk_full' }, file_paths: [] });
  expect(failed.error?.message).toMatch(/^no space is left for .*_0\.webp: free some, or delete videos$/);
  expect(await readdir(outputPath)).toEqual([`${id}.json`]);
  full.takes = () => false;
  const refused = await create({});
  expect([refused.status, await refused.json()]).toMatchObject([507, { error: { code: 'disk_full' } }]);
  full.takes = () => true;
  expect((await ended((await created()).id)).status).toBe('completed');
});

it('a disk that is full at the end loses the video, and its files', async () => {
  const outputPath = await folderOf({});
  const { created, ended } = await startVideos({ outputPath });
  full.takes = (data) => typeof data !== 'string' || !data.includes('"completed"');
  const { id } = await created();
  expect(await ended(id)).toMatchObject({ status: 'failed', error: { code: 'disk_full' } });
  expect(await readdir(outputPath)).toEqual([`${id}.json`]);
});

it('a folder that takes no files is refused when the server starts', async () => {
  const folder = await folderOf({ file: 'x' });
  await expect(startVideos({ outputPath: join(folder, 'file') })).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('--output-path'),
  });
  if (process.getuid?.() === 0) return; // root writes everywhere
  await mkdir(join(folder, 'closed'));
  await chmod(join(folder, 'closed'), 0o500);
  await expect(startVideos({ outputPath: join(folder, 'closed') })).rejects.toThrow('EACCES');
});

it('videos in memory are dropped by age, number and bytes, and the newest stays', async () => {
  class Few extends VideosInMemory {
    override readonly lifetime = 2000;
    override readonly mostBytes = 100;
    override readonly mostVideos = 3;
  }
  const store = new VideoStore(new Few());
  const end = async (id: string, bytes: number): Promise<VideoRecord> => {
    const record = { id, bytes: [], seeds: [], num_outputs: 1 } as unknown as VideoRecord;
    const video = { record, running: null };
    await store.add(video);
    await store.keep(video, new Uint8Array(bytes), 1);
    await store.end(video, { status: 'completed', error: null });
    return record;
  };
  const ids = () => store.all().map(({ record }) => record.id);
  const old = await end('a', 10);
  expect(ids()).toEqual(['a']);
  old.completed_at = old.created_at = old.completed_at! - 2;
  expect(ids()).toEqual([]);
  for (const id of ['b', 'c', 'd', 'e']) await end(id, 10);
  expect(ids()).toEqual(['c', 'd', 'e']);
  await end('f', 85);
  expect(ids()).toEqual(['e', 'f']);
  await end('g', 1000);
  expect(ids()).toEqual(['g']);
  expect(await store.files.readFile(store.find('g')!.record, 0)).toHaveLength(1000);
  expect(store.find('f')).toBeNull();
});

it('a video that is deleted while its file is written leaves nothing behind', async () => {
  const outputPath = await folderOf({});
  const { client, created, model } = await startVideos({ outputPath });
  const { id } = await created();
  await eventually(() => model.requests.length === 1, 'it is drawn');
  await client.videos.delete(id);
  await eventually(() => model.running === 0, 'nothing is drawn any more');
  await expect.poll(() => readdir(outputPath)).toEqual([]);
});

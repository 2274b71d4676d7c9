import { spawn } from 'node:child_process';
import { lstat, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFolder, removeLeftovers, saveNew, saveOver } from '../../../src/cli/generate/image-file.ts';
import { nodeArgs } from '../../started.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-picture-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('saving an image', () => {
  const bytes = Buffer.from('picture');

  it('never replaces a file, and leaves nothing else behind', async () => {
    const place = join(folder, 'new.png');
    expect(await saveNew(place, bytes)).toBe(true);
    expect(await saveNew(place, Buffer.from('other'))).toBe(false);
    expect(await readFile(place, 'utf8')).toBe('picture');
    await saveOver(place, Buffer.from('other'));
    expect(await readFile(place, 'utf8')).toBe('other');
    expect(await readdir(folder)).toEqual(['new.png']);
  });

  it('gives a name that many want at once to one of them', async () => {
    const place = join(folder, 'wanted.png');
    const won = await Promise.all(Array.from({ length: 20 }, () => saveNew(place, bytes)));
    expect(won.filter(Boolean)).toHaveLength(1);
  });

  it('replaces the target of a link, writes to what is not a file, and takes the longest names', async () => {
    const inside = await mkdtemp(join(folder, 'links-'));
    const [real, link, long] = ['real.json', 'link.json', `${'x'.repeat(251)}.png`].map((name) =>
      join(inside, name),
    ) as [string, string, string];
    await writeFile(real, 'before');
    await symlink(real, link);
    await saveOver(link, bytes);
    expect([await readFile(real, 'utf8'), (await lstat(link)).isSymbolicLink()]).toEqual(['picture', true]);
    await saveOver('/dev/null', bytes);
    expect((await stat('/dev/null')).isFile()).toBe(false);
    expect(await saveNew(long, bytes)).toBe(true);
    await symlink(join(inside, 'nowhere'), join(inside, 'dangling'));
    await expect(makeFolder(join(inside, 'dangling'))).rejects.toMatchObject({ code: 'bad_request' });
  });

  it('reports where an image cannot be written', async () => {
    const place = join(folder, 'none', 'x.png');
    await expect(saveNew(place, bytes)).rejects.toMatchObject({
      code: 'bad_request',
      message: `${place} cannot be written (ENOENT): name another folder`,
    });
  });

  it('removes the remains of a killed run, and nothing newer or other', async () => {
    const inside = await mkdtemp(join(folder, 'left-'));
    const [old, young, other] = ['.a.png.0123456789ab.part', '.b.png.0123456789ab.part', 'c.png'];
    for (const name of [old, young, other]) await writeFile(join(inside, name), '');
    const hoursAgo = new Date(Date.now() - 2 * 3_600_000);
    await utimes(join(inside, old), hoursAgo, hoursAgo);
    await utimes(join(inside, other), hoursAgo, hoursAgo);
    await removeLeftovers(inside);
    expect((await readdir(inside)).sort()).toEqual([young, other]);
  });

  it('leaves whole images only when a run is killed while it saves', async () => {
    const size = 4_000_000;
    for (const wait of [0, 7, 15]) {
      const inside = await mkdtemp(join(folder, 'kill-'));
      const saver = new URL('save-forever.ts', import.meta.url);
      const child = spawn(process.execPath, nodeArgs(saver, inside, String(size)));
      await new Promise((resolve) => child.stdout.once('data', resolve));
      await new Promise((resolve) => setTimeout(resolve, wait));
      child.kill('SIGKILL');
      await new Promise((resolve) => child.once('close', resolve));
      const images = (await readdir(inside)).filter((name) => name.endsWith('.png'));
      expect(images.length).toBeGreaterThan(0);
      for (const name of images) expect((await readFile(join(inside, name))).length).toBe(size);
    }
  });
});

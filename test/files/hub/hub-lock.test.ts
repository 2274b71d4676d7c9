import { lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { acquireLock } from '../../../src/files/hub/hub-lock.ts';
import { expectWeights, hubFixture, WEIGHTS, weightsOf } from './mock-hub-fixture.ts';
import { sha256 } from './mock-hub.ts';

/** Returns the path of a lock and a signal that ends waiting for it. */
async function place(): Promise<{ path: string; patience: AbortSignal }> {
  const folder = await mkdtemp(join(tmpdir(), 'lock-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return { path: join(folder, 'blob.svc.lock'), patience: AbortSignal.timeout(350) };
}

it('acquireLock() leaves a file alone that names no holder yet', async () => {
  const { path, patience } = await place();
  // A lock that vanishes between two checks: creating it fails, and reading it finds nothing.
  await symlink(`${path}.nowhere`, path);
  const onWait = vi.fn();
  await expect(acquireLock(path, patience, onWait)).rejects.toMatchObject({ code: 'cancelled' });
  expect((await lstat(path)).isSymbolicLink()).toBe(true);
  expect(onWait).not.toHaveBeenCalled();
});

it('acquireLock() takes the lock once its holder has released it', async () => {
  const { path } = await place();
  const holder = await acquireLock(path, undefined, () => {});
  const lock = await acquireLock(path, undefined, () => holder.release());
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ pid: process.pid, host: hostname() });
  await lock.release();
  expect(await readdir(join(path, '..'))).toEqual([]);
});

it('acquireLock() pauses between tries if the lock of a dead holder cannot be removed', async () => {
  const { path, patience } = await place();
  await writeFile(path, JSON.stringify({ pid: 999_999_999, host: hostname() }));
  // A folder with the target's name makes the rename fail, also for the superuser.
  await mkdir(join(`${path}.${process.pid}.stale`, 'full'), { recursive: true });
  const looks = vi.spyOn(process, 'kill');
  onTestFinished(() => looks.mockRestore());
  await expect(acquireLock(path, patience, () => {})).rejects.toMatchObject({ code: 'cancelled' });
  expect(looks.mock.calls.length).toBeGreaterThanOrEqual(1);
  expect(looks.mock.calls.length).toBeLessThanOrEqual(5);
});

it('a download accepts the same blob from another process', async () => {
  const fixture = await hubFixture();
  const blob = join(fixture.repo, 'blobs', sha256(weightsOf()));
  fixture.hub.fault = async (path, count) => {
    if (path === WEIGHTS && count === 0) {
      await rename(`${blob}.incomplete`, blob);
      await writeFile(blob, weightsOf());
    }
    return undefined;
  };
  const { path } = await fixture.resolve();
  await expectWeights(fixture, path);
});

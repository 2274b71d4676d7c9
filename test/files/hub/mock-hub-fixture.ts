// A mock hub and a cache folder of its own for each test, and short patience.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { HubEvent } from '../../../src/files/hub/hub.ts';
import { pipelineFolders } from '../../../src/engine/image/families/registry.ts';
import { resolveModel, type ResolvedModel, type ResolveOptions } from '../../../src/files/hub/hub.ts';
import type { HubLimits } from '../../../src/files/hub/hub-http.ts';
import { ID, sha256, startHub, tinyModel, type Fault, type MockHub } from './mock-hub.ts';

export const IMPATIENT: Partial<HubLimits> = { stallMs: 20_000, backoffMs: 5, partBytes: 65_536 };
/** For servers that stall. */
export const STALLED: Partial<HubLimits> = { ...IMPATIENT, stallMs: 1000 };

export interface Fixture {
  hub: MockHub;
  home: string;
  repo: string;
  env: Record<string, string>;
  events: HubEvent[];
  resolve: (options?: ResolveOptions) => Promise<ResolvedModel>;
}

export async function hubFixture(files = tinyModel()): Promise<Fixture> {
  const hub = await startHub(files);
  const home = await mkdtemp(join(tmpdir(), 'hub-test-'));
  onTestFinished(async () => {
    await hub.close();
    await rm(home, { recursive: true, force: true });
  });
  const env = { HF_HOME: home, HF_ENDPOINT: hub.url };
  const events: HubEvent[] = [];
  return {
    hub,
    home,
    repo: join(home, 'hub', 'models--acme--tiny'),
    env,
    events,
    resolve: (options = {}) =>
      resolveModel(ID, {
        env,
        limits: IMPATIENT,
        pipelines: pipelineFolders(),
        onProgress: (event) => events.push(event),
        ...options,
      }),
  };
}

export const eventsOf = <T extends HubEvent['type']>(
  fixture: Fixture,
  type: T,
): Extract<HubEvent, { type: T }>[] =>
  fixture.events.filter((event): event is Extract<HubEvent, { type: T }> => event.type === type);

export const WEIGHTS = 'model.safetensors';
export const weightsOf = (files = tinyModel()): Buffer => files.get(WEIGHTS) ?? Buffer.alloc(0);
export const ONE_PART = { limits: { ...IMPATIENT, partBytes: 1 << 20 } };

/** The first responses for the weights fail, the later ones do not. */
export const firstly =
  (...faults: Fault[]) =>
  (path: string, count: number): Fault | undefined =>
    path === WEIGHTS ? faults[count] : undefined;

export async function expectWeights(fixture: Fixture, path: string, weights = weightsOf()): Promise<void> {
  expect(sha256(await readFile(join(path, WEIGHTS)))).toBe(sha256(weights));
  expect((await readdir(join(fixture.repo, 'blobs'))).filter((name) => name.endsWith('.incomplete'))).toEqual(
    [],
  );
  expect(await readdir(join(fixture.home, 'hub', '.locks', 'models--acme--tiny'))).toEqual([]);
}

export async function writePartial(fixture: Fixture, bytes: Buffer): Promise<void> {
  await mkdir(join(fixture.repo, 'blobs'), { recursive: true });
  await writeFile(join(fixture.repo, 'blobs', `${sha256(weightsOf())}.incomplete`), bytes);
}

export const reasons = (fixture: Fixture): string[] => eventsOf(fixture, 'retry').map(({ reason }) => reason);

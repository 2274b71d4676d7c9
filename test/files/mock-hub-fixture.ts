// A mock hub and a cache folder of its own for each test, and short patience.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { HubEvent } from '../../src/files/hub.ts';
import { resolveModel, type ResolvedModel, type ResolveOptions } from '../../src/files/hub.ts';
import type { HubLimits } from '../../src/files/hub-http.ts';
import { ID, startHub, tinyModel, type MockHub } from './mock-hub.ts';

export const IMPATIENT: Partial<HubLimits> = { stallMs: 250, backoffMs: 5, partBytes: 65_536 };

export interface Fixture {
  hub: MockHub;
  home: string;
  repo: string;
  env: Record<string, string>;
  events: HubEvent[];
  resolve(options?: ResolveOptions): Promise<ResolvedModel>;
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
      resolveModel(ID, { env, limits: IMPATIENT, onProgress: (event) => events.push(event), ...options }),
  };
}

export const eventsOf = <T extends HubEvent['type']>(
  fixture: Fixture,
  type: T,
): Extract<HubEvent, { type: T }>[] =>
  fixture.events.filter((event): event is Extract<HubEvent, { type: T }> => event.type === type);

// The shipped models in a page of headless Firefox, whose WebGPU is wgpu: another compiler of shaders, no subgroups, and adapters without names.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { beforeAll, expect, test } from 'vitest';
import { findFirefox, softwareDriver, startFirefox } from '../../scripts/setup/firefox.mjs';
import { withResolvers } from '../../src/engine/async/resolvers.ts';
import { REPLIES, REPLY_TOKENS, SCENE } from '../shipped.ts';
import type { Report, Task } from './firefox-page.ts';
import { PageServer } from './page-server.ts';
import { BUILT_ENGINE, bundleScripts } from './page-scripts.ts';

/** A driver with an empty cache compiles for half a minute of CPU time. */
const LIMIT = 240_000;

/** scripts/test.mjs names the browser that it found, '' if it found none; a test file that runs by itself looks for one. */
const path = (process.env['SVC_FIREFOX'] ?? (await find())) || null;

async function find(): Promise<string | null> {
  const answer = await findFirefox();
  if ('path' in answer) return answer.path;
  console.log(`Firefox: NOT RUN (${answer.reason})`);
  return null;
}

/** Modules that the page loads, in order. */
const SCRIPTS = {
  page: 'test/browser/page.ts',
  shipped: 'test/browser/shipped-page.ts',
  firefox: 'test/browser/firefox-page.ts',
};

const TASK: Task = {
  questions: REPLIES.map(({ question }) => question),
  maxTokens: REPLY_TOKENS,
  scene: { ...SCENE.request },
};

/** What the page reported, and how the browser ended where that was before the page's last report. */
interface Outcome {
  reports: Report[];
  early: string | null;
}

async function runPage(browser: string): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pages-'));
  const server = new PageServer({ scripts: Object.keys(SCRIPTS), isolated: false });
  const reports: Report[] = [];
  const { promise: finished, resolve: finish } = withResolvers<null>();
  server.route('/task', (_, response) => void response.end(JSON.stringify(TASK)));
  server.route('/report', async (request, response) => {
    const report = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Report;
    reports.push(report);
    response.end();
    if (report.type === 'end') finish(null);
  });
  try {
    await bundleScripts(folder, SCRIPTS);
    await server.start([folder, BUILT_ENGINE]);
    const { ended, end } = startFirefox(browser, server.url);
    const early = await Promise.race([finished, ended]);
    await end();
    return { reports, early };
  } finally {
    await server.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

const inFirefox = test.runIf(path !== null);
let outcome: Outcome;
beforeAll(async () => {
  if (path !== null) outcome = await runPage(path);
}, LIMIT);

function reportOf<T extends Report['type']>(type: T): Extract<Report, { type: T }> {
  const found = outcome.reports.find((report) => report.type === type);
  if (found === undefined) throw new Error(`the page made no report of ${type}: ${JSON.stringify(outcome)}`);
  return found as Extract<Report, { type: T }>;
}

inFirefox('the page runs to its end without an error', () => {
  expect(outcome.early).toBeNull();
  expect(outcome.reports.filter(({ type }) => type === 'error')).toEqual([]);
});

inFirefox('a software adapter is known as such, although it has no name', () => {
  const isSoftware = Object.keys(softwareDriver()).length > 0 ? true : expect.any(Boolean);
  const [adapter] = reportOf('adapters').adapters;
  expect(adapter).toMatchObject({ description: '', software: isSoftware });
});

inFirefox('the language model answers with the tokens of Node', () => {
  expect(reportOf('replies').replies.map(({ ids }) => ids)).toEqual(REPLIES.map(({ ids }) => ids));
});

inFirefox('the image model draws the image of Node within 1/255', async () => {
  const { image, error } = reportOf('drawn').drawn;
  expect(error).toBeNull();
  const { data } = await sharp(SCENE.path).raw().toBuffer({ resolveWithObject: true });
  expect(image!.length).toBe(data.length);
  expect(image!.filter((value, i) => Math.abs(value - data[i]!) > 1)).toHaveLength(0);
});

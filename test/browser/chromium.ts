// Pages of the engine in headless Chromium. A test file calls usePages() once: it gets one browser and one server of its own, and each
// test fails on errors that its pages report.
//
//   const pages = usePages();
//   pages.test('counts adapters', async () => {
//     const page = await pages.open();
//     expect(await page.evaluate(async () => (await svc.adapters()).length)).toBe(1);
//   });
//
// Functions passed to page.evaluate run in the page: they see its globals (page.ts) and their argument, nothing of the test file, and
// no import().

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Plugin } from 'esbuild';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { bundle } from '../../scripts/setup/bundle.mjs';
import { CHROMIUM_FLAGS, wholeChromium } from '../../scripts/setup/chromium.mjs';
import { FOUND_CHROMIUM } from './found-chromium.ts';
import { PageServer } from './page-server.ts';
import { BUILT_ENGINE, bundleScripts } from './page-scripts.ts';

export interface PagesOptions {
  /** Serves every file with the headers of cross-origin isolation. */
  isolated?: boolean;
  /** Keeps one profile on disk for all pages of the file, also over restart(); otherwise each page gets a fresh one in memory. */
  persistent?: boolean;
  /** Scripts that each page loads after page.ts, by names of their own: paths from the project's root. */
  scripts?: Record<string, string>;
  /** Plugins by which the engine is bundled for this file together with the scripts; without them it is the built one. */
  plugins?: Plugin[];
  /** Lets destroyDevices() reach the devices of the engine's workers. */
  keepDevices?: boolean;
  /** Runs in the whole browser, not in its headless shell. */
  whole?: boolean;
  /** Further flags of the browser. */
  flags?: string[];
}

declare global {
  /** Devices of a worker, where `keepDevices` is set. */
  var keptDevices: GPUDevice[] | undefined;
}

/** Runs before the first message to a worker is read. */
const KEEP_DEVICES = `{
  globalThis.keptDevices = [];
  const request = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = async function (...given) {
    const device = await request.apply(this, given);
    globalThis.keptDevices.push(device);
    return device;
  };
}`;

/** Starts the browser and the server before the tests of this file and ends them afterwards. */
export function usePages(options: PagesOptions = {}): Pages {
  const pages = new Pages(options);
  if (pages.browserPath === null) return pages;
  afterAll(() => pages.end());
  beforeAll(() => pages.start());
  beforeEach(() => pages.keepOpened());
  afterEach(async () => {
    const problems = await pages.takeProblems();
    expect(problems, 'errors that the pages reported').toEqual([]);
  });
  return pages;
}

export class Pages {
  /** A test that needs the browser, skipped where there is none. */
  readonly test: typeof test;
  /** The browser that it starts; null: there is none. */
  readonly browserPath: string | null;
  readonly #options: PagesOptions;
  /** Holds the scripts and the profile while the browser runs. */
  #folder = '';
  readonly #server: PageServer;
  #browser: Browser | null = null;
  /** The one context of a persistent profile. */
  #kept: BrowserContext | null = null;
  /** Pages of the running test. */
  #opened: Page[] = [];
  #problems: string[] = [];
  #allowed: RegExp[] = [];

  constructor(options: PagesOptions) {
    this.#options = options;
    this.browserPath =
      options.whole && FOUND_CHROMIUM !== null ? wholeChromium(FOUND_CHROMIUM) : FOUND_CHROMIUM;
    this.test = test.runIf(this.browserPath !== null) as typeof test;
    const { isolated = false, scripts = {} } = options;
    this.#server = new PageServer({ scripts: ['page', ...Object.keys(scripts)], isolated });
  }

  /** Address of the server, with a slash at its end. */
  get url(): string {
    return this.#server.url;
  }

  /** Answers the requests whose path begins with `prefix`, until the end of the file or the next call with the same prefix. */
  route(...given: Parameters<PageServer['route']>): void {
    this.#server.route(...given);
  }

  async start(): Promise<void> {
    const { plugins, keepDevices = false } = this.#options;
    const scripts = { page: 'test/browser/page.ts', ...this.#options.scripts };
    this.#folder = mkdtempSync(join(tmpdir(), 'svc-pages-'));
    const own = join(this.#folder, 'scripts');
    if (plugins) await bundle(own, { extra: scripts, plugins });
    else await bundleScripts(own, scripts);
    const engine = plugins ? own : BUILT_ENGINE;
    if (keepDevices)
      this.route('/engine/engine-worker.js', (_, response) => {
        const code = readFileSync(join(engine, 'engine-worker.js'), 'utf8');
        response.setHeader('content-type', 'text/javascript').end(code + KEEP_DEVICES);
      });
    await this.#server.start([own, engine]);
    await this.#launch();
  }

  /** Ends the browser and starts it again; a persistent profile is still there. */
  async restart(): Promise<void> {
    await this.#quit();
    await this.#launch();
  }

  /**
   * Opens a page with the engine, with storage of its own unless the profile is persistent. It is closed after the test; a page that
   * beforeAll opens, after the last test.
   */
  async open(): Promise<Page> {
    const context = this.#kept ?? (await this.#browser!.newContext());
    const page = await context.newPage();
    this.#opened.push(page);
    page.on('console', (message) => {
      if (message.type() === 'error') this.#report(`${message.text()} (${message.location().url})`);
    });
    page.on('pageerror', (error) => this.#report(String(error.stack ?? error)));
    page.on('crash', () => this.#report('the page crashed'));
    await page.goto(this.url);
    return page;
  }

  /** Makes the pages that are open, by hooks before the tests, stay open until the end of the file. */
  keepOpened(): void {
    this.#opened = [];
  }

  /** Destroys the devices of the workers of a page, which the engine meets as the loss of its device. */
  async destroyDevices(page: Page): Promise<void> {
    for (const worker of page.workers())
      await worker.evaluate(() => {
        for (const device of globalThis.keptDevices?.splice(0) ?? []) device.destroy();
      });
  }

  /**
   * Makes the engine's workers of a page wait longer for each result of the device, as for a slow adapter: a reply of a small model then still
   * runs when something happens to the page, and no core is busy with it.
   */
  async slowDown(page: Page): Promise<void> {
    for (const worker of page.workers())
      await worker.evaluate(() => {
        const { mapAsync } = GPUBuffer.prototype;
        GPUBuffer.prototype.mapAsync = async function (...given) {
          await mapAsync.apply(this, given);
          await new Promise((resolve) => setTimeout(resolve, 150));
        };
      });
  }

  /** Errors of the pages that match `pattern` do not fail the running test. */
  allow(pattern: RegExp): void {
    this.#allowed.push(pattern);
  }

  /** Errors that the pages have reported since the last takeProblems(). */
  get problemCount(): number {
    return this.#problems.length;
  }

  #report(text: string): void {
    this.#problems.push(text);
  }

  /** Closes the pages of the test that ended; returns the errors that were not allowed. */
  async takeProblems(): Promise<string[]> {
    for (const page of this.#opened.splice(0)) await (this.#kept ? page : page.context()).close();
    const allowed = this.#allowed.splice(0);
    return this.#problems.splice(0).filter((text) => !allowed.some((pattern) => pattern.test(text)));
  }

  async end(): Promise<void> {
    await this.#quit();
    await this.#server.end();
    if (this.#folder !== '')
      rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  async #launch(): Promise<void> {
    const launch = {
      executablePath: this.browserPath!,
      args: [...CHROMIUM_FLAGS, ...(this.#options.flags ?? [])],
      ignoreDefaultArgs: ['--disable-back-forward-cache'],
    };
    if (this.#options.persistent)
      this.#kept = await chromium.launchPersistentContext(join(this.#folder, 'profile'), launch);
    else this.#browser = await chromium.launch(launch);
  }

  async #quit(): Promise<void> {
    await this.#kept?.close();
    await this.#browser?.close();
    this.#opened = [];
  }
}

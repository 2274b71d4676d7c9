// The server's page in headless Chromium. A test file calls useWebPage() once and gets one browser; each test fails on errors that its pages report;
// the page's content security policy makes a request that leaves the server one of them.
//
//   const web = useWebPage();
//   web.test('shows the models', async () => {
//     const { url } = await start();
//     const page = await web.open(url);
//   });

import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { CHROMIUM_FLAGS } from '../../scripts/setup/chromium.mjs';
import { FOUND_CHROMIUM as found } from '../browser/found-chromium.ts';

export function useWebPage(): WebPages {
  const pages = new WebPages();
  if (found === null) return pages;
  beforeAll(() => pages.start());
  afterAll(() => pages.end());
  afterEach(async () => {
    expect(await pages.takeProblems(), 'errors that the pages reported').toEqual([]);
  });
  return pages;
}

/** A server may end before the page of its test, which asks for its state now and then. */
const SERVER_ENDED = /ERR_CONNECTION_REFUSED.*\/(v1\/models|server_info)\)$/;

class WebPages {
  /** A test that needs the browser, skipped where there is none. */
  readonly test = test.runIf(found !== null);
  #browser: Browser | null = null;
  #problems: string[] = [];
  #allowed: RegExp[] = [];

  async start(): Promise<void> {
    this.#browser = await chromium.launch({ executablePath: found!, args: CHROMIUM_FLAGS });
  }

  /** Opens the page of a server with storage of its own. `path`: what follows the address, for example `#/images`. */
  async open(url: string, path = '', options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.#browser!.newContext(options);
    const page = await context.newPage();
    page.on('console', (message) => {
      if (message.type() === 'error') this.#problems.push(`${message.text()} (${message.location().url})`);
    });
    page.on('pageerror', (error) => this.#problems.push(String(error.stack ?? error)));
    await page.goto(`${url}/${path}`);
    return page;
  }

  /** Errors that match do not fail the running test. */
  allow(pattern: RegExp): void {
    this.#allowed.push(pattern);
  }

  /** Closes the pages of the test that ended; returns the errors that were not allowed. */
  async takeProblems(): Promise<string[]> {
    for (const context of this.#browser?.contexts() ?? []) {
      // Ends the requests of the page: the browser's driver fails on replies that arrive while a context closes.
      for (const page of context.pages()) await page.goto('about:blank');
      await context.close();
    }
    const allowed = [...this.#allowed.splice(0), SERVER_ENDED];
    return this.#problems.splice(0).filter((text) => !allowed.some((pattern) => pattern.test(text)));
  }

  async end(): Promise<void> {
    await this.#browser?.close();
  }
}
